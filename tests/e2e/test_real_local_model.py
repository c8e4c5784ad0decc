"""The real weights at work: a few items, under two minutes. Skipped, with the reason, where they are not here."""

import asyncio
import os
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from skillopt.envs.own.judge import Grade
from skillopt.errors import ModelError
from skillopt.gradient.schemas import FailureAnalysis, MergedEdits
from skillopt.model.providers.local import LocalProvider, LocalSettings
from skillopt.model.shape import shape_of
from skillopt.model.types import Message, Request
from skillopt.model.weights import DEFAULT, TABLE, cache_directory
from skillopt.optimizer.schemas import Ranking

CACHE = cache_directory(os.environ)
SKILL = "\n\n".join(
    f"Input: {text}\nQuestion: {question}\nOutput: {answer}"
    for text, question, answer in (
        ("Ada keeps a goat in Lund.", "What does Ada keep?", "a goat"),
        ("The gate of Orr is red.", "What colour is the gate?", "red"),
        ("Piet sells maps in the harbour.", "Who sells maps?", "Piet"),
    )
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("xllamacpp") is None, reason='no runtime: pip install "skillopt[local]"'),
    pytest.mark.skipif(
        not (CACHE / TABLE[DEFAULT].file).is_file(), reason=f"the weights are not here: skillopt models pull {DEFAULT}"
    ),
]  # fmt: skip


def asked(text: str, system: str = SKILL) -> Request:
    return Request((Message("system", system), Message("user", text)), "rollout", 12, timeout=60)


async def test_it_answers_the_same_whatever_runs_before_and_beside_it() -> None:
    texts = [f"{name} owns a {thing} in Tarn.\nQuestion: Who owns a {thing}?" for name, thing in (
        ("Ruth", "boat"), ("Emil", "mill"), ("Noor", "shop"), ("Kai", "barn"))]  # fmt: skip
    provider = LocalProvider(LocalSettings(DEFAULT, CACHE))
    try:
        together = await asyncio.gather(*(provider.complete(asked(text)) for text in texts))
        await provider.complete(asked(texts[0], "Another skill."))
        alone = [await provider.complete(asked(text)) for text in reversed(texts)]
        assert [c.text for c in together] == [c.text for c in alone][::-1]
        assert sum(c.text == name for c, name in zip(together, ("Ruth", "Emil", "Noor", "Kai"), strict=True)) >= 2
        assert alone[-1].usage.cached_tokens > 0.5 * alone[-1].usage.prompt_tokens
        likely = await provider.score(asked(texts[0]).messages, ["Ruth", "a purple engine"])
        assert likely[0] > likely[1]
        chosen = await provider.complete(
            Request(asked(texts[0]).messages, "rollout", 12, extra={"choices": ["left", "right"]})
        )
        assert chosen.text in ("left", "right")
        with pytest.raises(ModelError) as error:
            await provider.complete(asked("word " * 6000))
        assert error.value.kind == "context_length"
    finally:
        await provider.close()


async def test_a_file_that_is_no_model_is_said_so(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\0" * 100)
    provider = LocalProvider(LocalSettings(str(broken), tmp_path))
    with pytest.raises(ModelError, match="did not start"):
        await provider.complete(asked("x"))
    await provider.close()


async def test_answers_are_held_to_a_shape_and_to_choices() -> None:
    """llama.cpp takes the schemas of the house (nested, enums, optional parts, bounded lists) and keeps to them."""
    provider = LocalProvider(LocalSettings(DEFAULT, CACHE, max_tokens=40))
    first = {FailureAnalysis: "failure_summary", MergedEdits: "reasoning", Ranking: "reasoning", Grade: "reason"}
    try:
        for schema, name in first.items():
            request = Request((Message("user", "Say what to change."),), "analyst", json_schema=shape_of(schema))
            assert re.match(rf'{{\s*"{name}"\s*:', (await provider.complete(request)).text)
    finally:
        await provider.close()
    for choose in ("grammar", "likelihood"):
        held = LocalProvider(LocalSettings(DEFAULT, CACHE, choices=("a goat", "red"), choose=choose))
        try:
            reply = await held.complete(asked("Ada keeps a goat in Lund.\nQuestion: What does Ada keep?"))
            assert reply.text == "a goat"
        finally:
            await held.close()
