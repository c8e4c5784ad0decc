"""One event, one JSON line. Strings over 4096 characters are replaced by `{"$blob": "<sha256>"}`.

Most lines are short and hold no such mark, so they go straight through pydantic; only the others are walked as trees.
A user's own key that looks like the mark gets one more `$`, so every value comes back as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from skillopt.errors import JournalError
from skillopt.journal.events import EVENT, VERSION, Event
from skillopt.journal.migrate import MIGRATIONS
from skillopt.types import JSON

LONG = 4096
_MARK = "$blob"
_TRACE = b'$blob"'
_CURRENT = b'{"v":%d,' % VERSION

Put = Callable[[str], str]


class Get(Protocol):
    def __call__(self, digest: str, needed_by: str = "") -> str: ...


def encode(event: Event, put: Put) -> bytes:
    """The line of an event, newline included. What JSON cannot hold is refused here, before it is recorded."""
    try:
        line = EVENT.serializer.to_json(event)
    except PydanticSerializationError as error:
        raise JournalError(
            f"The result {event.key!r} cannot be recorded: {error}. A result may hold only text, numbers, true, false,"
            " null, lists and mappings; convert other values in the benchmark or agent that made it."
        ) from error
    if len(line) > LONG or _TRACE in line:
        tree = from_json(line)
        line = to_json(tree | {"body": _fold(tree["body"], put)})
    return line + b"\n"


def decode(line: bytes, get: Get) -> Event:
    """The event of a line. Raises `JournalError` for a line that is not an event."""
    try:
        if _TRACE not in line and line.startswith(_CURRENT):
            return EVENT.validate_json(line)
        tree = from_json(line)
        if not isinstance(tree, dict):
            raise JournalError("The line is not a journal event.")
        tree = MIGRATIONS.upgrade(tree)
        return EVENT.validate_python(tree | {"body": _unfold(tree.get("body"), get, str(tree.get("key")))})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise JournalError(f"The line is not a journal event: {where}: {first['msg']}.") from error
    except ValueError as error:
        raise JournalError(f"The line is not JSON: {error}.") from error


def storable(event: Event) -> Event:
    """The event without half surrogate pairs, which UTF-8 cannot hold: models sometimes cut an emoji in two."""
    return EVENT.validate_python(_scrub(EVENT.dump_python(event)))


def _fold(value: JSON, put: Put) -> JSON:
    if isinstance(value, str):
        return {_MARK: put(value)} if len(value) > LONG else value
    if isinstance(value, list):
        return [_fold(each, put) for each in value]
    if isinstance(value, dict):
        return {f"${key}" if _is_mark(key) else key: _fold(each, put) for key, each in value.items()}
    return value


def _unfold(value: JSON, get: Get, key: str) -> JSON:
    if isinstance(value, list):
        return [_unfold(each, get, key) for each in value]
    if isinstance(value, dict):
        if _MARK in value:
            return get(value[_MARK], key)
        return {name[1:] if _is_mark(name) else name: _unfold(each, get, key) for name, each in value.items()}
    return value


def _is_mark(key: str) -> bool:
    """`$blob` with any number of dollar signs in front."""
    return key.endswith(_MARK) and not key.removesuffix(_MARK).strip("$")


def _scrub(value: JSON) -> JSON:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_scrub(key): _scrub(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_scrub(each) for each in value]
    return value
