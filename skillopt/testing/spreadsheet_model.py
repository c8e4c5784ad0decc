"""A target for SpreadsheetBench without a mind: it knows a script for each request and gives it in the way it is asked.

With tools on offer it writes solution.py, runs it and says that it is done; without them it replies with the script.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from skillopt.envs.spreadsheetbench.script import as_reply
from skillopt.model.types import Completion, Request, ToolCall
from skillopt.types import Usage


class ScriptWriter:
    """A provider; `script_for` gets the user's text and gives the script."""

    identity = "script-writer"

    def __init__(self, script_for: Callable[[str], str]) -> None:
        self._script_for = script_for

    async def complete(self, request: Request) -> Completion:
        asked = next(message.text for message in request.messages if message.role == "user")
        script = self._script_for(asked)
        usage = Usage(calls=1, prompt_tokens=len(asked) // 4, completion_tokens=len(script) // 4)
        if not request.tools:
            return Completion(as_reply(script), usage)
        done = sum(message.role == "tool" for message in request.messages)
        if done >= 2:
            return Completion("The script is in solution.py.", usage)
        name, arguments = (
            ("write_file", {"path": "solution.py", "content": script}),
            ("bash", {"cmd": "python solution.py"}),
        )[done]
        return Completion("", usage, "tool_calls", tool_calls=(ToolCall(f"call-{done}", name, json.dumps(arguments)),))

    async def close(self) -> None:
        return None
