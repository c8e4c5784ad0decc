"""`dash`: the dashboard. The same as `python -m skillopt_webui.app`."""

from __future__ import annotations

import click


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True}, add_help_option=False)
@click.pass_context
def dash(ctx: click.Context) -> None:
    """Watch and launch runs in the browser (--port, --host, --share, --runs)."""
    from skillopt_webui.app import main

    main(ctx.args)
