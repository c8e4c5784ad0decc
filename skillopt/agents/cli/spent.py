"""What a model's answer cost, read off the wire: the usage that the three formats report, streamed or whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from skillopt.types import JSON, Usage

_LONGEST = 4 << 20


@dataclass(slots=True)
class Reader:
    """Takes an answer as it passes, a line at a time. Rows that are not about usage are not even parsed."""

    found: dict[str, JSON] = field(default_factory=dict[str, JSON])
    _rest: bytes = b""

    def feed(self, piece: bytes) -> None:
        *lines, rest = (self._rest + piece).split(b"\n")
        self._rest = rest if len(rest) <= _LONGEST else b""
        for line in lines:
            self._line(line)

    def usage(self) -> Usage:
        """One call; an answer that said nothing of usage is counted as unreported."""
        self._line(self._rest)
        self._rest = b""
        return counted(self.found) if self.found else Usage(calls=1, unreported=1)

    def _line(self, line: bytes) -> None:
        if b'"usage"' not in line:
            return
        try:
            row: JSON = json.loads(line.removeprefix(b"data:").strip())
        except ValueError:
            return
        for place in (row, row.get("message"), row.get("response")) if isinstance(row, dict) else ():
            if isinstance(place, dict) and isinstance(place.get("usage"), dict):
                # A stream counts up: the last number of each kind is the whole.
                self.found |= {name: value for name, value in place["usage"].items() if value is not None}


def counted(row: Mapping[str, JSON]) -> Usage:
    """Anthropic leaves cached tokens out of the input, OpenAI counts them in; here they are in."""
    read, written = _int(row.get("cache_read_input_tokens")), _int(row.get("cache_creation_input_tokens"))
    prompt = _int(row.get("input_tokens") or row.get("prompt_tokens")) + read + written
    details = row.get("input_tokens_details") or row.get("prompt_tokens_details") or {}
    thought = row.get("output_tokens_details") or row.get("completion_tokens_details") or {}
    return Usage(
        calls=1,
        prompt_tokens=prompt,
        completion_tokens=_int(row.get("output_tokens") or row.get("completion_tokens")),
        cached_tokens=read or _int(details.get("cached_tokens")),
        reasoning_tokens=_int(thought.get("reasoning_tokens")),
        cache_write_tokens=written,
    )


def _int(value: JSON) -> int:
    return value if isinstance(value, int) else 0
