"""`python -m skillopt_webui.app`: the dashboard as a command. Loopback unless told otherwise, and then with a token."""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from aiohttp import web

from skillopt.errors import ConfigError, SkillOptError
from skillopt_webui.security import Doorkeeper, host_name, is_loopback
from skillopt_webui.server import Settings, create_app


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m skillopt_webui.app", description="Watch and launch runs in the browser."
    )
    made.add_argument("--port", type=int, default=7860, help="port (7860); 0 = any free one")
    made.add_argument(
        "--host", default="127.0.0.1", help="address to listen on; any but this machine's own asks for a token"
    )
    made.add_argument(
        "--share", action="store_true", help="open a public address through gradio's tunnel; asks for a token"
    )
    made.add_argument("--runs", type=Path, default=Path("outputs"), help="folder with the runs (outputs)")
    made.add_argument(
        "--data",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="a further folder that the launch form may name; repeatable",
    )
    made.add_argument("--token", action="store_true", help="ask for a token on this machine too")
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    args = parser().parse_args(arguments)
    # A large run is a million small objects that stay; the collector's default would walk them over and over.
    gc.set_threshold(50_000, 20, 50)
    try:
        asyncio.run(serve(args.host, args.port, args.runs, share=args.share, data=tuple(args.data), token=args.token))
    except SkillOptError as error:
        sys.exit(f"skillopt: {error}")
    except OSError as error:
        sys.exit(
            f"skillopt: the dashboard cannot listen on {args.host}:{args.port}: {error.strerror}. Choose another port."
        )


async def serve(
    host: str, port: int, runs: Path, *, share: bool = False, data: tuple[Path, ...] = (), token: bool = False
) -> None:
    """Serve until interrupted; the first lines say where."""
    given = os.environ.get("SKILLOPT_DASHBOARD_TOKEN", "").strip() or None
    keeper = Doorkeeper.for_host(host, shared=share, token=given)
    if token and keeper.token is None:
        keeper = Doorkeeper.for_host(host, shared=True)
        keeper.secure = False
    if not is_loopback(host):
        keeper.names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    app = create_app(Settings(runs, Path.cwd(), data), keeper, environment)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        bound = runner.addresses[0][1]
        shared = await _shared(bound, keeper) if share else ""
        _say(host, bound, runs, keeper, shared)
        await _until_stopped()
    finally:
        await runner.cleanup()


def environment() -> Mapping[str, str]:
    """What commands are started with. They read a `.env` file themselves; here it only serves the quote."""
    from skillopt.running import environment as real

    return real()


async def _shared(port: int, keeper: Doorkeeper) -> str:
    if keeper.token is None:
        raise ConfigError("--share needs a token.")
    from skillopt_webui.sharing import open_tunnel

    address = await asyncio.to_thread(open_tunnel, port)
    keeper.names.add(host_name(address.partition("://")[2]))
    return address


def _say(host: str, port: int, runs: Path, keeper: Doorkeeper, shared: str) -> None:
    named = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    shown = f"[{named}]" if ":" in named else named
    suffix = f"/?token={keeper.token}" if keeper.token else ""
    lines = [
        f"The dashboard is at http://{shown}:{port}{suffix}",
        f"It shows the runs in {runs}. Stop it with Ctrl-C; runs go on.",
    ]
    if shared:
        lines.insert(1, f"Public, for whoever has the token: {shared}{suffix}")
    if keeper.token:
        lines.append("Whoever has this token can read the runs and start new ones with your keys.")
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


async def _until_stopped() -> None:
    """Having handlers of our own also means that commands started here get the usual Ctrl-C back."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()


if __name__ == "__main__":
    main()
