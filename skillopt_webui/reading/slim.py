"""One journal line, read for a display. Rollouts are most lines, and of them a view needs names and numbers only.

Transcripts, answers and score details stay on disk, blobs included, until somebody opens the item: that makes reading a
large journal several times faster and keeps the memory small.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import NamedTuple, cast

from pydantic_core import from_json

from skillopt.journal.blobs import Blobs
from skillopt.journal.codec import decode
from skillopt.journal.events import VERSION, Event, RolloutDone
from skillopt.types import JSON, Failure, Rollout, Score, Usage

_CURRENT = b'{"v":%d,' % VERSION
_BODY = b'"body":'
_ROLLOUT = b'"body":{"type":"rollout",'
_UNUSED = Usage()
_TASK = 160


class Line(NamedTuple):
    """An event, and for a rollout what its item asks, in a line."""

    event: Event
    task: str = ""


def read_line(line: bytes, blobs: Blobs) -> Line:
    """The event of a line; raises `JournalError` for a line that is none."""
    if line.startswith(_CURRENT) and line.startswith(_ROLLOUT, line.find(_BODY)):
        try:
            return _rollout(from_json(line))
        except (ValueError, KeyError, TypeError, AttributeError):
            pass  # The full reader says what is wrong with it.
    return Line(decode(line, blobs.get))


def _rollout(tree: Mapping[str, JSON]) -> Line:
    body = tree["body"]
    row = body["rollout"]
    rollout = Rollout(
        item=str(row["item"]),
        item_digest=str(row["item_digest"]),
        skill=sys.intern(row["skill"]),
        draw=sys.intern(row["draw"]),
        kind=sys.intern(row["kind"]),
        score=_score(row["score"]),
        failure=_failure(row["failure"]),
        usage=_usage(row.get("usage")),
        seconds=float(row.get("seconds") or 0.0),
        turns=int(row.get("turns", 1)),
        judging=_usage(row.get("judging")),
    )
    done = RolloutDone.model_construct(at=sys.intern(body["at"]), stage=sys.intern(body["stage"]), rollout=rollout)
    event = Event.model_construct(v=tree["v"], seq=tree["seq"], ts=tree["ts"], key=tree["key"], body=done)
    return Line(event, _text(row.get("task"))[:_TASK])


_NOTHING: Mapping[str, JSON] = {}


def _score(row: Mapping[str, JSON] | None) -> Score | None:
    return None if row is None else Score(float(row["hard"]), float(row["soft"]), _NOTHING)


def _failure(row: Mapping[str, JSON] | None) -> Failure | None:
    return None if row is None else Failure(sys.intern(str(row["kind"])), _text(row["message"]))


def _usage(row: Mapping[str, JSON] | None) -> Usage:
    return Usage(**cast("dict[str, JSON]", row)) if row and row.get("calls") else _UNUSED


def _text(value: JSON) -> str:
    """A text that was long enough for a file of its own is left there."""
    return value if isinstance(value, str) else ""
