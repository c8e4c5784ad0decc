"""The tools of one attempt: a shell and a way to write files, both in the attempt's own folder of the sandbox.

The folder travels into the box and back with every command, so nothing of a command outlives it but files.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from skillopt.agents.sandbox import WORK, Ran, collect
from skillopt.envs.spreadsheetbench.box import cut, failure
from skillopt.envs.spreadsheetbench.inbox import INPUT, OUTPUT, SCRIPT
from skillopt.envs.spreadsheetbench.workshop import Workshop
from skillopt.model.types import Tool
from skillopt.types import JSON

_GIVEN = ".given"
_SHOWN = 4000
_MOST_CHARACTERS = 1_000_000
_SHELL = (
    f'export INPUT_PATH="$PWD/{INPUT}" OUTPUT_PATH="$PWD/{OUTPUT}" PYTHONPATH="$PWD/{_GIVEN}" '
    'PYTHONDONTWRITEBYTECODE=1; exec "$0" -c "$1"'
)
# Python imports this before a script, in the very module that becomes the script's own: the names are its globals.
_PATHS_AS_NAMES = """import os, __main__
for _name in ("INPUT_PATH", "OUTPUT_PATH"):
    setattr(__main__, _name, os.environ.get(_name, ""))
"""


def _tool(name: str, description: str, **properties: JSON) -> Tool:
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return Tool(name, description, schema)


TOOLS = (
    _tool(
        "bash",
        f"Run a shell command in your folder, such as `python {SCRIPT}`. Answers with what it prints.",
        cmd={"type": "string", "description": "The command"},
    ),
    _tool(
        "write_file",
        "Write a text file into your folder, replacing what was there.",
        path={"type": "string", "description": f"Relative to your folder, such as {SCRIPT}"},
        content={"type": "string", "description": "The whole content"},
    ),
)


class Bench:
    """`work` is a folder outside of the box that only this attempt uses; `book` the workbook that it is shown."""

    def __init__(self, workshop: Workshop, work: Path, book: Path) -> None:
        self._workshop = workshop
        self._work = work
        self._book = book

    @property
    def tools(self) -> tuple[Tool, ...]:
        return TOOLS

    async def call(self, name: str, arguments: Mapping[str, JSON]) -> str:
        wanted = ("cmd",) if name == "bash" else ("path", "content")
        values = [arguments.get(word) for word in wanted]
        if lacking := [w for w, v in zip(wanted, values, strict=True) if not isinstance(v, str)]:
            return f"error: {name} needs {' and '.join(lacking)} as text"
        if name == "bash":
            return await self._bash(str(values[0]))
        return await asyncio.to_thread(self._write, str(values[0]), str(values[1]))

    def script(self) -> str:
        """The script as the attempt left it; "" where there is none."""
        content = collect(self._work, SCRIPT)
        return content.decode("utf-8", "replace") if content else ""

    async def _bash(self, command: str) -> str:
        if "\0" in command:
            return "error: the command holds a null character"
        limits = self._workshop.options.for_tools
        async with self._workshop.slots:
            await asyncio.to_thread(self._lay_out)
            ran = await self._workshop.box.run(("sh", "-c", _SHELL, _shell(), command), work=self._work, limits=limits)
        told = _told(ran) if ran.ended == "exit" else f"error: {failure(ran, limits)}; files are as before the command"
        return f"{told}\n[{self._state()}]" if SCRIPT in command else told

    def _lay_out(self) -> None:
        """Before each command: a fresh input, since an earlier one may have changed it."""
        given = self._work / _GIVEN
        if given.is_file():
            given.unlink()
        given.mkdir(exist_ok=True)
        (given / "sitecustomize.py").write_text(_PATHS_AS_NAMES, encoding="utf-8")
        book = self._work / INPUT
        if book.is_dir():
            shutil.rmtree(book)
        shutil.copyfile(self._book, book)
        book.chmod(0o644)

    def _state(self) -> str:
        return f"{OUTPUT} {'is there' if (self._work / OUTPUT).is_file() else 'does not exist'}"

    def _write(self, path: str, content: str) -> str:
        inner = PurePosixPath(path)
        if inner.is_absolute() and inner.is_relative_to(WORK):
            inner = inner.relative_to(WORK)
        parts = inner.parts
        if inner.is_absolute() or ".." in parts or not parts or parts[0] == _GIVEN or "\0" in path:
            return f"error: {path!r} is not in your folder; give a relative path such as {SCRIPT}"
        if len(content) > _MOST_CHARACTERS:
            return f"error: more than {_MOST_CHARACTERS} characters; write the file with a script instead"
        target = self._work.joinpath(*parts)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            # Links never come out of a box, but a folder is opened by its real name all the same.
            if not target.parent.resolve().is_relative_to(self._work.resolve()) or target.is_symlink():
                return f"error: {path!r} is not in your folder"
            target.write_bytes(content.encode("utf-8", "replace"))
        except OSError as error:
            return f"error: {path!r} cannot be written: {error.strerror}"
        return f"wrote {len(content)} characters to {inner}"


def _shell() -> str:
    return "bash" if any(Path(place).exists() for place in ("/bin/bash", "/usr/bin/bash")) else "sh"


def _told(ran: Ran) -> str:
    parts = [ran.stdout.rstrip(), ran.stderr.rstrip(), f"[exit code {ran.code}]" if ran.code else ""]
    if ran.discarded:
        parts.append(f"[{ran.discarded} bytes of output left out]")
    return cut("\n".join(part for part in parts if part), _SHOWN) or "[it printed nothing]"
