"""The JSON schema that an answer is held to, made from the pydantic model that will read it.

A model that reads loosely (everything may be missing, anything may be more) gives a schema that holds nobody to
anything. What is sent is tight instead: the properties that are asked for, in the order in which they are best written
(reasons before conclusions), and nothing else. `asked` names them; a trailing `?` means "may be left out".
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import cast

from pydantic import BaseModel, ConfigDict

from skillopt.types import JSON

ASKED = "asked"
_DROPPED = frozenset({"title", "description", "default", ASKED})
_BRANCHES = ("anyOf", "oneOf", "allOf")


def asked(*names: str) -> ConfigDict:
    """The configuration of a model whose answers have exactly these properties; none at all means: hold to nothing."""
    return ConfigDict(json_schema_extra={ASKED: list(names)})


@lru_cache(maxsize=64)
def shape_of(schema: type[BaseModel]) -> Mapping[str, JSON] | None:
    """The schema to send, or None when the model says that its answers have no one shape."""
    whole = schema.model_json_schema()
    if whole.get(ASKED) == []:
        return None
    made = _tight(whole)
    if defs := whole.get("$defs"):
        made["$defs"] = {name: _tight(part) for name, part in defs.items()}
    return made


def _tight(part: Mapping[str, JSON]) -> dict[str, JSON]:
    row = {key: value for key, value in part.items() if key not in _DROPPED and key != "$defs"}
    if "properties" in row:
        return row | _object(part)
    if row.get("type") == "array":
        items = row.get("items")
        row["items"] = _tight(cast("Mapping[str, JSON]", items)) if isinstance(items, Mapping) else {}
    for branch in _BRANCHES:
        if branch in row:
            row[branch] = [_tight(each) for each in row[branch]]
    return row


def _object(part: Mapping[str, JSON]) -> dict[str, JSON]:
    """Everything asked for is required; what may be null is left out rather than written as null."""
    known = cast("Mapping[str, Mapping[str, JSON]]", part["properties"])
    wanted: list[str] = part.get(ASKED) or [f"{name}?" if _without_null(row) else name for name, row in known.items()]
    names = [name.removesuffix("?") for name in wanted]
    return {
        "properties": {name: _tight(_without_null(known[name]) or known[name]) for name in names},
        "required": [name for name in wanted if not name.endswith("?")],
        "additionalProperties": False,
    }


def _without_null(row: Mapping[str, JSON]) -> Mapping[str, JSON] | None:
    """The schema of a nullable value without its null; None when it is not nullable."""
    branches: list[Mapping[str, JSON]] = row.get("anyOf") or []
    kept = [branch for branch in branches if branch.get("type") != "null"]
    if len(kept) == len(branches):
        return None
    return kept[0] if len(kept) == 1 else {"anyOf": kept}
