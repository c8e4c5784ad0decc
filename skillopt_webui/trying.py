"""The playground's one call, as a process of its own: `python -m skillopt_webui.trying` reads a wish, writes a result.

Apart from the server, so that no benchmark and no credential is ever loaded into the process that answers pages.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from skillopt import app
from skillopt.agents.base import Task
from skillopt.agents.chat import ChatAgent
from skillopt.app import Inputs
from skillopt.config.load import Override
from skillopt.errors import ConfigError, SkillOptError
from skillopt.running import environment
from skillopt.types import JSON, Attempt, Item, Score

_SYSTEM = "You carry out tasks. Follow this skill:\n\n{skill}"
_MAX_TOKENS = 4096


def main() -> None:
    wish = json.loads(sys.stdin.read())
    try:
        answer: dict[str, JSON] = asyncio.run(tried(wish, environment()))
    except SkillOptError as error:
        answer = {"error": str(error)}
    sys.stdout.write(json.dumps(answer, default=str))


async def tried(wish: Mapping[str, JSON], environ: Mapping[str, str]) -> dict[str, JSON]:
    """Let the target of a run try one item, or a text, under a skill. Nothing is recorded."""
    with TemporaryDirectory() as home:
        loaded = app.load(Path(wish["config"]), (Override("env.out_root", home, "playground"),))
        inputs = app.checked_inputs(loaded, environ=environ, run_dir=Path(home))
        try:
            return await _try(inputs, str(wish["skill"]), str(wish.get("item") or ""), str(wish.get("text") or ""))
        finally:
            await inputs.models.close()


async def _try(inputs: Inputs, skill: str, item_id: str, text: str) -> dict[str, JSON]:
    config = inputs.config
    if config.model.target_backend.endswith("_exec"):
        raise ConfigError("The playground speaks to chat models; this run's target works in a folder of its own.")
    agent = ChatAgent(
        inputs.models.target,
        reasoning_effort=config.model.reasoning_effort or None,
        temperature=config.model.temperature,
        timeout=config.env.exec_timeout,
    )
    if not item_id:
        system = _SYSTEM.format(skill=skill) if skill.strip() else ""
        return _answer(await agent.run(Task(system=system, user=text, max_tokens=_MAX_TOKENS)), None)
    item = _found(inputs, item_id)
    attempt = await inputs.benchmark.attempt(item, skill, agent)
    judged = await inputs.benchmark.judged(item, attempt, inputs.models.optimizer)
    return _answer(attempt, judged.score)


def _found(inputs: Inputs, item_id: str) -> Item:
    for split in (inputs.splits.val, inputs.splits.train, inputs.splits.test):
        for item in split:
            if item_id in (item.id, item.digest):
                return item
    raise ConfigError(f"there is no item {item_id!r} in the data of this run")


def _answer(attempt: Attempt, score: Score | None) -> dict[str, JSON]:
    judged = {"hard": score.hard, "soft": score.soft, "detail": dict(score.detail)} if score else None
    turns = [asdict(turn) for turn in attempt.trajectory]
    return {"answer": attempt.answer, "turns": turns, "usage": asdict(attempt.usage), "score": judged}


if __name__ == "__main__":
    main()
