"""`skillopt doctor`: is everything there, does it answer, and what mends it if not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from skillopt.cli.environment import environment
from skillopt.cli.flags import FlagCommand, configured

if TYPE_CHECKING:
    from skillopt.config.schema import Config
    from skillopt.model.doctor import Finding
    from skillopt.types import JSON


@click.command(cls=FlagCommand)
@click.option("--offline", is_flag=True, help="Check without calling any model.")
@click.option("--yes", is_flag=True, help="Do not ask before the tiny test calls.")
@configured
@click.pass_context
def doctor(
    ctx: click.Context,
    config: Path,
    cfg_options: tuple[str, ...],
    offline: bool,
    yes: bool,
    verbose: int,
    **flags: JSON,
) -> None:
    """Check configuration, credentials, models and tools; print what is wrong and what mends it."""
    import asyncio

    from skillopt.cli.work import loaded_from
    from skillopt.model.doctor import diagnose

    loaded, environ = loaded_from(config, cfg_options, flags), environment()
    if not offline and not yes:
        offline = not _consent(loaded.config, environ)
    findings = asyncio.run(diagnose(loaded.config, environ, offline=offline))
    for finding in findings:
        _say(finding)
    ctx.exit(0 if all(finding.ok or not finding.needed for finding in findings) else 1)


def _consent(config: Config, environ: Mapping[str, str]) -> bool:
    from skillopt.model.doctor import expected_cost

    cost = expected_cost(config, environ)
    price = "at an unknown price" if cost is None else f"for about ${cost:.4f}"
    return click.confirm(f"Send a few tiny test calls to each model, {price}?", default=True)


def _say(finding: Finding) -> None:
    """A tick, a cross for a fault, a dash for what only some runs use."""
    sign = "✓" if finding.ok else "✗" if finding.needed else "-"
    click.echo(f"{sign} {finding.name}: {finding.detail}")
    if finding.mend and not finding.ok:
        click.echo(f"    {finding.mend}")
