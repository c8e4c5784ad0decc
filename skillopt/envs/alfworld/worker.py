"""The engine's own process: one game at a time, driven by lines of JSON on the socket that is its standard input.

TextWorld blocks, keeps state for the whole process, prints, and grows; here it can be timed, killed and replaced. The
process ends when the socket closes, and on Linux at once when its parent dies, so none is left over.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from importlib import import_module
from io import BufferedRWPair
from pathlib import Path

from skillopt.envs.alfworld.names import spoken_names
from skillopt.envs.alfworld.shortcuts import take_shortcuts
from skillopt.types import JSON

_DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of <linux/prctl.h>."""


class Engine:
    """TextWorld's PDDL engine. Plans are never asked for: in a kitchen the planner runs for minutes."""

    def __init__(self) -> None:
        textworld = import_module("textworld")
        pddl = import_module("textworld.envs.pddl")
        take_shortcuts()
        wanted = textworld.EnvInfos(feedback=True, won=True, admissible_commands=True)
        self._env: JSON = pddl.PddlEnv(wanted)

    def reset(self, path: str) -> dict[str, JSON]:
        """Open a game at its beginning."""
        self._env.load(json.loads(Path(path).read_text(encoding="utf-8")))
        things: dict[str, JSON] = self._env._entity_infos
        for identifier, name in spoken_names(things).items():
            things[identifier].name = name
        return _shown(self._env.reset())

    def step(self, command: str) -> dict[str, JSON]:
        """Carry out one command."""
        state, _, _ = self._env.step(command)
        return _shown(state)


def serve(line: BufferedRWPair, open_engine: Callable[[], Engine]) -> None:
    """Answer until the other side hangs up. An error of the engine is an answer, too."""
    engine: Engine | None = None
    for asked in line:
        request = json.loads(asked)
        try:
            engine = engine or open_engine()
            answer = engine.reset(request["game"]) if "game" in request else engine.step(request["command"])
        except Exception as error:  # noqa: BLE001 - told to the parent, which decides
            answer = {"error": f"{type(error).__name__}: {error}"}
        line.write(json.dumps(answer | {"memory": _memory()}).encode() + b"\n")
        line.flush()


def main() -> None:
    parent = int(sys.argv[1])
    # An interrupt from the keyboard reaches the whole group; what to do about it is the parent's to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        return
    line = socket.socket(fileno=os.dup(0)).makefile("rwb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    # The planner prints; what it says must not get between the answers, nor onto the user's screen.
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    try:
        serve(line, Engine)
    except (BrokenPipeError, ConnectionResetError):
        return


def _shown(state: JSON) -> dict[str, JSON]:
    return {"text": state["feedback"], "commands": state["admissible_commands"], "won": bool(state["won"])}


def _memory() -> int:
    """Megabytes in use; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGESIZE") >> 20


if __name__ == "__main__":
    main()
