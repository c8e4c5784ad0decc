"""`export`: a trained skill where an agent picks it up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

if TYPE_CHECKING:
    from skillopt.export import Format

# The same words as `skillopt.export.FORMATS`, which is loaded only when the command runs.
_FORMATS = ("agent-skill", "claude", "codex", "agents-md")


@click.command("export")
@click.argument("where", required=False, type=click.Path(path_type=Path), metavar="[SKILL|RUN]")
@click.option(
    "--format",
    "kind",
    required=True,
    type=click.Choice(_FORMATS),
    help="agent-skill: NAME/SKILL.md; claude: .claude/skills; codex: .agents/skills; agents-md: AGENTS.md, a section.",
)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path(), help="Folder; blank = here.")
@click.option("--name", default="", help="Name of the skill; by default the one in its front matter, or its heading.")
@click.option("--description", default="", help="When to use it; by default the one in its front matter.")
@click.option("--force", is_flag=True, help="Replace a file that SkillOpt did not write; a backup is kept.")
def export_skill(where: Path | None, kind: str, out: Path, name: str, description: str, force: bool) -> None:
    """Write a trained skill where an agent finds it. Without an argument: the best skill of the newest run."""
    from skillopt.export import Wanted, find_source, write_export

    done = write_export(find_source(where), Wanted(cast("Format", kind), out, name, description, force))
    if not done.changed:
        click.echo(f"{done.path} already holds the skill {done.name}; nothing was changed.")
        return
    kept = f"; the old file is {done.backup.name}" if done.backup else ""
    click.echo(f"{done.path} now holds the skill {done.name}{kept}.")
