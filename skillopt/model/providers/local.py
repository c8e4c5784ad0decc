"""A GGUF model on this machine's processor behind the ordinary provider interface.

Measured, and therefore so: with one slot an answer at temperature 0 is a function of the request alone, whatever ran
before and beside it, bit for bit: the skill is read once from its first token, and every request starts exactly at its
end. (llama.cpp's own prefix cache cuts where two prompts happen to differ, which moves log-probabilities by a tenth.)
With more slots prompts are decoded together, sums are rounded in another order, and close calls may fall either way;
every slot also reads the skill for itself: on two cores two slots gained nothing and four were slower.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, cast

from skillopt.errors import ModelError
from skillopt.model import layouts
from skillopt.model.endpoint import Endpoint
from skillopt.model.lanes import Lane, Lanes
from skillopt.model.local_grammar import bounded, choice, without_examples
from skillopt.model.local_server import Order, Server, WorkerServer, check_runtime
from skillopt.model.types import Completion, Message, Request
from skillopt.model.weights import TABLE, Layout, Source, ensure
from skillopt.types import JSON, Usage, canonical

log = logging.getLogger(__name__)

PREFIXES_KEPT = 64
Choose = Literal["grammar", "likelihood"]


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """Fixed for a whole run. `layout` is empty for the model's own.

    With `choices` every attempt at a task ends in one of them: written under a grammar, or the most likely one.
    """

    model: str
    cache: Path
    layout: Layout | None = None
    source: Source = "auto"
    threads: int = 2
    slots: int = 1
    context: int = 4096
    max_tokens: int = 1024
    choices: tuple[str, ...] = ()
    choose: Choose = "grammar"

    @classmethod
    def of(cls, endpoint: Endpoint) -> LocalSettings:
        """A missing runtime is said here, before weights are fetched for nothing."""
        check_runtime()
        extra = endpoint.extra
        layout: JSON = extra["layout"] or None
        return cls(
            endpoint.model, Path(endpoint.base_url.removeprefix("local:")), layout, extra["source"],
            extra["threads"], extra["slots"], extra["context"], extra["max_tokens"],
            tuple(extra.get("choices", ())), extra.get("choose", "grammar"),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Scored:
    likelihood: float
    usage: Usage


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
        held = f", {s.choose} of {canonical(s.choices)}" if s.choices else ""
        size = f"{s.threads} threads, {s.slots} slots, {s.context} tokens, {s.max_tokens} an answer"
        return f"local {s.model} {s.layout or 'own'} layout, {size}{held}"

    async def complete(self, request: Request) -> Completion:
        settings = self.settings
        held = settings.choices if request.stage == "rollout" else ()
        if held and settings.choose == "likelihood":
            return await self._most_likely(request, held)
        server = await self._ready()
        asked = request.messages if request.json_schema is None else without_examples(request.messages)
        prompt = await self._prompt(server, asked)
        body = _body(request, prompt, settings.max_tokens, held)
        answer = await self._answer(server, prompt, body, request.timeout)
        finish = "length" if answer.get("stop_type") == "limit" else "stop"
        return Completion(str(answer["content"]).strip(), _usage(answer), finish, settings.model)

    async def score(self, messages: tuple[Message, ...], options: Sequence[str]) -> tuple[float, ...]:
        """The log-likelihood of each option as the reply: of its most likely spelling in tokens, greedily found."""
        return tuple([scored.likelihood for scored in await self._scored(messages, options, None)])

    async def _most_likely(self, request: Request, options: Sequence[str]) -> Completion:
        """The option that the model would say most readily; the first of equals."""
        scored = await self._scored(request.messages, options, request.timeout)
        best = max(range(len(options)), key=lambda n: scored[n].likelihood)
        # One question for the accounts, whose cost is that of all the readings.
        usage = replace(sum((each.usage for each in scored), Usage()), calls=1)
        return Completion(options[best], usage, "stop", self.settings.model)

    async def _scored(
        self, messages: tuple[Message, ...], options: Sequence[str], timeout: float | None
    ) -> tuple[_Scored, ...]:
        server = await self._ready()
        prompt = await self._prompt(server, messages)
        found: list[_Scored] = []
        for option in options:
            body = {"n_predict": 256, "temperature": 0, "n_probs": 1, "grammar": choice([option], prompt.lead)}
            answer = await self._answer(server, prompt, body, timeout)
            found.append(_Scored(_likelihood(answer, prompt.lead + option), _usage(answer)))
        return tuple(found)

    async def close(self) -> None:
        if self.server is not None:
            await self.server.close()

    async def _ready(self) -> Server:
        async with self._opening:
            if self.server is None:
                s = self.settings
                _announce(s)
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


def _body(request: Request, prompt: layouts.Prompt, most: int, held: Sequence[str]) -> dict[str, JSON]:
    """`extra` may hold `grammar` (GBNF), `choices` (the only replies allowed) or `stop`."""
    extra = request.extra
    body: dict[str, JSON] = {
        "n_predict": min(request.max_tokens, most),
        "temperature": request.temperature or 0,
        "seed": extra.get("seed", 0),
        "stop": [*prompt.stops, *extra.get("stop", ())],
    }
    # A grammar knows its own end; a layout's stop could cut a value that holds a blank line.
    if choices := extra.get("choices") or held:
        return body | {"grammar": choice(choices, prompt.lead), "stop": []}
    if grammar := extra.get("grammar"):
        return body | {"grammar": grammar, "stop": []}
    if request.json_schema is not None:
        return body | {"json_schema": bounded(request.json_schema), "stop": []}
    return body


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


def _announce(settings: LocalSettings) -> None:
    """First use pulls by itself, and says what and how large before it does."""
    row = TABLE.get(settings.model)
    if row is not None and not (settings.cache / row.file).is_file():
        log.warning("fetching %s once (%s) into %s", row.name, row.megabytes, settings.cache)


def _say(what: str, done: int, total: int) -> None:
    if not done or done == total:
        log.info("%s (%.0f MB)", what, max(done, total) / 1e6)
