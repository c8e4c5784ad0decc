"""What a field's annotation is made of: decides how a written value is read before pydantic checks it."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic import SecretStr

from skillopt.types import JSON

TEXTUAL = frozenset({str, SecretStr, Path})


def atoms(annotation: JSON) -> frozenset[JSON]:
    """The plain types an annotation allows: `Literal["a"] | None` gives `{str, NoneType}`."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return atoms(get_args(annotation)[0])
    if origin is Literal:
        return frozenset(type(value) for value in get_args(annotation))
    if origin is Union or origin is types.UnionType:
        return frozenset().union(*(atoms(part) for part in get_args(annotation)))
    return frozenset({annotation if origin is None else origin})
