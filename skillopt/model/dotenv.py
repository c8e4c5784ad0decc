"""`.env` files: what a shell would export from them, and nothing a shell would run.

Reading is pure; the real environment always wins, and no value is ever logged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_LINE = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=(?P<rest>.*)")
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "$": "$", "`": "`"}


def read_env(text: str) -> dict[str, str]:
    """The variables of a file's text; the last setting of a name counts. Lines that set nothing are passed over."""
    found: dict[str, str] = {}
    for line in text.removeprefix("\ufeff").splitlines():
        if match := _LINE.fullmatch(line):
            found[match["name"]] = _value(match["rest"].strip())
    return found


def with_env_file(text: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment completed by a file: a variable that is already set keeps its value."""
    return {**read_env(text), **environ}


def _value(rest: str) -> str:
    if rest.startswith("'"):
        return rest[1:].partition("'")[0]
    if rest.startswith('"'):
        return _quoted(rest[1:])
    if rest.startswith("#"):
        return ""
    return re.split(r"\s+#", rest, maxsplit=1)[0].rstrip()


def _quoted(rest: str) -> str:
    """Up to the closing quote, with the escapes of a shell."""
    value: list[str] = []
    characters = iter(rest)
    for character in characters:
        if character == '"':
            break
        if character == "\\":
            following = next(characters, "")
            value.append(_ESCAPES.get(following, f"\\{following}"))
        else:
            value.append(character)
    return "".join(value)
