"""A GGUF model on this machine's processor behind the ordinary provider interface.

Measured, and therefore so: with one slot an answer at temperature 0 is a function of the request alone, whatever ran
before and beside it, bit for bit: the skill is read once from its first token, and every request starts exactly at its
end. (llama.cpp's own prefix cache cuts where two prompts happen to differ, which moves log-probabilities by a tenth.)
With more slots prompts are decoded together, sums are rounded in another order, and close calls may fall either way;
every slot also reads the skill for itself: on two cores two slots gained nothing and four were slower.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from skillopt.errors import ModelError
from skillopt.model import layouts
from skillopt.model.endpoint import Endpoint
from skillopt.model.lanes import Lane, Lanes
from skillopt.model.local_server import Order, Server, WorkerServer
from skillopt.model.types import Completion, Message, Request
from skillopt.model.weights import Layout, Source, ensure
from skillopt.types import JSON, Usage

log = logging.getLogger(__name__)

PREFIXES_KEPT = 64


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """Fixed for a whole run. `layout` is empty for the model's own."""

    model: str
    cache: Path
    layout: Layout | None = None
    source: Source = "auto"
    threads: int = 2
    slots: int = 1
    context: int = 4096

    @classmethod
    def of(cls, endpoint: Endpoint) -> LocalSettings:
        extra = endpoint.extra
        layout: JSON = extra["layout"] or None
        return cls(
            endpoint.model, Path(endpoint.base_url.removeprefix("local:")), layout, extra["source"],
            extra["threads"], extra["slots"], extra["context"],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Tokens:
    prefix: tuple[int, ...]
    suffix: tuple[int, ...]


@dataclass(slots=True)
class LocalProvider:
    """A `Provider`. The model is fetched and started at the first call; `server` is given by tests only."""

    settings: LocalSettings
    server: Server | None = None
    _layout: Layout = "chat"
    _lanes: Lanes = field(init=False)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    _prefixes: dict[str, tuple[int, ...]] = field(default_factory=dict[str, "tuple[int, ...]"])

    def __post_init__(self) -> None:
        self._lanes = Lanes(self.settings.slots)
        self._layout = self.settings.layout or "chat"

    @property
    def identity(self) -> str:
        s = self.settings
        return f"local {s.model} {s.layout or 'own'} layout, {s.threads} threads, {s.slots} slots, {s.context} tokens"

    async def complete(self, request: Request) -> Completion:
        server = await self._ready()
        prompt = await self._prompt(server, request.messages)
        body = _body(request, prompt)
        answer = await self._answer(server, prompt, body, request.timeout)
        usage = _usage(answer)
        finish = "length" if answer.get("stop_type") == "limit" else "stop"
        return Completion(str(answer["content"]).strip(), usage, finish, self.settings.model)

    async def score(self, messages: tuple[Message, ...], options: Sequence[str]) -> tuple[float, ...]:
        """The log-likelihood of each option as the reply: of its most likely spelling in tokens, greedily found."""
        server = await self._ready()
        prompt = await self._prompt(server, messages)
        totals: list[float] = []
        for option in options:
            body = {"n_predict": 256, "temperature": 0, "n_probs": 1, "grammar": _choice([option], prompt.lead)}
            answer = await self._answer(server, prompt, body, None)
            totals.append(_likelihood(answer, prompt.lead + option))
        return tuple(totals)

    async def close(self) -> None:
        if self.server is not None:
            await self.server.close()

    async def _ready(self) -> Server:
        async with self._opening:
            if self.server is None:
                s = self.settings
                found = await asyncio.to_thread(ensure, s.model, s.cache, source=s.source, progress=_say)
                self._layout = s.layout or found.layout
                self.server = WorkerServer(Order(found.path, s.threads, s.slots, s.context))
            return self.server

    async def _prompt(self, server: Server, messages: tuple[Message, ...]) -> layouts.Prompt:
        if self._layout == "document":
            return layouts.document(messages)
        rendered = await server.post("/apply-template", {"messages": list(layouts.turns(messages))})
        return layouts.cut(rendered["prompt"], messages)

    async def _answer(
        self, server: Server, prompt: layouts.Prompt, body: dict[str, JSON], timeout: float | None
    ) -> JSON:
        tokens = await self._tokens(server, prompt)
        async with self._lanes.use(prompt.prefix) as lane:
            try:
                return await asyncio.wait_for(_asked(server, lane, prompt.prefix, tokens, body), timeout)
            except asyncio.TimeoutError as error:
                raise ModelError("timeout", f"{self.identity}: no answer within {timeout:g} s") from error

    async def _tokens(self, server: Server, prompt: layouts.Prompt) -> _Tokens:
        """Prefix and suffix are tokenised apart, so that the cut between them is where it was made."""
        if prompt.prefix not in self._prefixes:
            if len(self._prefixes) >= PREFIXES_KEPT:
                self._prefixes.clear()
            self._prefixes[prompt.prefix] = await self._tokenised(server, prompt.prefix, first=True)
        prefix = self._prefixes[prompt.prefix]
        return _Tokens(prefix, await self._tokenised(server, prompt.suffix, first=not prefix))

    async def _tokenised(self, server: Server, text: str, *, first: bool) -> tuple[int, ...]:
        if not text:
            return ()
        # Words such as <|im_end|> are signs only in a template; in plain text they are text.
        body = {"content": text, "add_special": first, "parse_special": self._layout == "chat"}
        return tuple(cast("list[int]", (await server.post("/tokenize", body))["tokens"]))


async def _asked(server: Server, lane: Lane, prefix: str, tokens: _Tokens, body: dict[str, JSON]) -> JSON:
    """Read the prefix if the lane holds another, put the lane back to its end, then answer from there."""
    shared, slot = bool(tokens.prefix), {"id_slot": lane.slot}
    blank = {**slot, "prompt": list(tokens.prefix), "n_predict": 0}
    if shared and lane.prefix != prefix:
        await server.post("/completion", {**blank, "cache_prompt": False})
    if shared:
        await server.post("/completion", {**blank, "cache_prompt": True})
    lane.prefix = prefix
    whole = [*tokens.prefix, *tokens.suffix]
    return await server.post("/completion", {**slot, **body, "prompt": whole, "cache_prompt": shared})


def _body(request: Request, prompt: layouts.Prompt) -> dict[str, JSON]:
    """`extra` may hold `grammar` (GBNF), `choices` (the only replies allowed) or `stop`."""
    extra = request.extra
    body: dict[str, JSON] = {
        "n_predict": request.max_tokens,
        "temperature": request.temperature or 0,
        "seed": extra.get("seed", 0),
        "stop": [*prompt.stops, *extra.get("stop", ())],
    }
    # A grammar knows its own end; a layout's stop could cut a value that holds a blank line.
    if choices := extra.get("choices"):
        return body | {"grammar": _choice(choices, prompt.lead), "stop": []}
    if grammar := extra.get("grammar"):
        return body | {"grammar": grammar, "stop": []}
    if request.json_schema is not None:
        return body | {"json_schema": dict(request.json_schema), "stop": []}
    return body


def _choice(options: Sequence[str], lead: str) -> str:
    return "root ::= " + " | ".join(json.dumps(lead + option, ensure_ascii=False) for option in options)


def _likelihood(answer: JSON, option: str) -> float:
    """The sum over the option's own tokens; the sign that ends the reply is not part of it."""
    rows = cast("list[dict[str, JSON]]", answer.get("completion_probabilities") or [])
    total, said = 0.0, 0
    for row in rows:
        if said >= len(option.encode()):
            break
        total += float(row["logprob"])
        said += len(row.get("bytes") or str(row["token"]).encode())
    return total


def _usage(answer: JSON) -> Usage:
    timings = answer.get("timings") or {}
    return Usage(
        calls=1,
        prompt_tokens=int(answer.get("tokens_evaluated", 0)),
        completion_tokens=int(answer.get("tokens_predicted", 0)),
        cached_tokens=int(timings.get("cache_n", 0)),
    )


def _say(what: str, done: int, total: int) -> None:
    """First use pulls by itself and says so, once for each file."""
    if not done or done == total:
        log.info("%s (%.0f MB)", what, max(done, total) / 1e6)
