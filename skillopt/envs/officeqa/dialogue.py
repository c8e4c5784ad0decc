"""Answering by web search, in plain text: a reply holds queries or the answer, so any chat model can take part."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import cast

from skillopt.agents.base import Agent, Task
from skillopt.envs.officeqa.reference import last_tagged
from skillopt.envs.officeqa.search import Search
from skillopt.errors import ModelError
from skillopt.model.types import Message
from skillopt.together import together
from skillopt.types import JSON, Attempt, Turn, Usage

_QUERIES = re.compile(r"<search_queries>(.*?)</search_queries>", re.IGNORECASE | re.DOTALL)
_ANSWER_NOW = "This is the last round. No more searches: answer now, between <answer> and </answer>."
_NEITHER = (
    'The reply holds neither queries nor an answer. Send <search_queries>["..."]</search_queries> to search, or '
    "<answer>...</answer> to answer."
)


@dataclass(frozen=True, slots=True)
class Limits:
    rounds: int
    queries: int


async def searched(task: Task, agent: Agent, search: Search, limits: Limits) -> Attempt:
    """Rounds of searching until there is an answer; the last round must be one."""
    messages = (Message("system", task.system), Message("user", task.user))
    turns = [Turn("system", task.system), Turn("user", task.user)]
    usage = Usage()
    for number in range(1, limits.rounds + 1):
        last = number == limits.rounds
        asked = (*messages, Message("user", _ANSWER_NOW)) if last and number > 1 else messages
        reply = await agent.chat(asked, max_tokens=task.max_tokens, timeout=task.timeout)
        usage += reply.usage
        turns.append(Turn("assistant", reply.text))
        if last or last_tagged(reply.text) is not None:
            return Attempt(reply.text, tuple(turns), usage, turns=number)
        result = await _results(queries(reply.text), search, limits.queries)
        turns.append(Turn("tool", result))
        messages = (*messages, Message("assistant", reply.text), Message("user", result))
    raise AssertionError("the last round returns")


def queries(reply: str) -> tuple[str, ...]:
    """The queries of a reply: a JSON list, or one a line where the list is not well formed."""
    found = _QUERIES.search(reply)
    if not found:
        return ()
    try:
        value: JSON = json.loads(found[1])
    except ValueError:
        value = [line.strip(" \t,[]\"'-") for line in found[1].splitlines()]
    rows = cast("list[JSON]", value) if isinstance(value, list) else [value]
    texts = (" ".join(str(row).split()) for row in rows if isinstance(row, str | int | float))
    return tuple(dict.fromkeys(text[:400] for text in texts if text))


async def _results(wanted: tuple[str, ...], search: Search, most: int) -> str:
    if not wanted:
        return _NEITHER
    kept = wanted[:most]
    found = await together(_found(search, query) for query in kept)
    parts = [f"Results for {query!r}:\n{text}" for query, text in zip(kept, found, strict=True)]
    if len(wanted) > most:
        parts.append(f"[left out: {len(wanted) - most} more; at most {most} queries a round]")
    return "\n\n".join(parts)


async def _found(search: Search, query: str) -> str:
    """A query that the service refuses is the model's to mend; every other failure is not."""
    try:
        return await search.find(query)
    except ModelError as error:
        if error.kind != "bad_request":
            raise
        return f"error: {error}"
