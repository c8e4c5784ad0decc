"""`init` and `apply`: the first and the last command around one's own skill."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from skillopt.cli.own import HERE, own_data, own_skill, taken

if TYPE_CHECKING:
    from skillopt.types import JSON


@click.command()
@own_skill
@own_data
@click.option("--backend", default="", help="Where models are called, as openai_compatible or claude.")
@click.option("--target", default="", help="Model that the skill is trained for.")
@click.option("--optimizer", default="", help="Model that writes the edits.")
@click.option("--ask/--no-ask", default=None, help="Ask for what is not given; by default in a terminal.")
@click.option("--force", is_flag=True, help="Write over an existing skillopt.yaml.")
def init(backend: str, target: str, optimizer: str, ask: bool | None, force: bool, **flags: JSON) -> None:
    """Write a small skillopt.yaml for your own skill and examples; `skillopt train` then reads it."""
    from skillopt.cli.starting import Answers, settled, written

    if HERE.exists() and not force:
        raise click.UsageError(f"{HERE} is already there; edit it, or add --force to write it anew.")
    given = {name: str(value) for name, value in taken(flags).values.items()}
    answers = Answers(given, {"backend": backend, "target": target, "optimizer": optimizer})
    start = settled(answers, asking=sys.stdin.isatty() if ask is None else ask)
    for line in written(start):
        click.echo(line)


@click.command("apply")
@click.argument("where", required=False, type=click.Path(path_type=Path), metavar="[RUN|FILE]")
@click.option("--to", type=click.Path(path_type=Path), help="The skill file, when it has moved since.")
def apply_proposal(where: Path | None, to: Path | None) -> None:
    """Put a trained skill in place of yours, keeping a backup. Without an argument: the newest proposal."""
    from skillopt.propose import find_proposal, put_in_place
    from skillopt.skill.diff import unified

    proposal = find_proposal(where)
    placed = put_in_place(proposal, to=to)
    if placed.backup is None:
        click.echo(f"{placed.original} already has this text; nothing was changed.")
        return
    click.echo(
        unified(proposal.base, proposal.text, old_name=placed.backup.name, new_name=placed.original.name), nl=False
    )
    click.echo(f"\n{placed.original} now holds the skill of {proposal.run_dir}; the old one is {placed.backup.name}.")
