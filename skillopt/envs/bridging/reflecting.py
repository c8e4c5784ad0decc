"""An adapter's own `reflect`: called with the rows and files it would find in the guide's trainer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from skillopt.agents.function import described, in_thread
from skillopt.datasets.checks import safe_name
from skillopt.envs.batch import SHARED_REFLECT, EnvAdapter, Row, SharedReflect
from skillopt.envs.bridging.calls import Rolling, witnessed
from skillopt.errors import ModelError, SkillOptError, StageStopped
from skillopt.journal.records import result_row
from skillopt.types import JSON, Item, Rollout, Usage


@dataclass(frozen=True, slots=True)
class Asked:
    """What a step hands to a reflection; the texts are the optimizer's memory, `shared` are the run's own analysts."""

    at: str
    skill: str
    seed: int
    previous_steps: str
    meta_skill: str
    shared: SharedReflect


@dataclass(frozen=True, slots=True)
class Reflecting:
    adapter: EnvAdapter
    rolling: Rolling

    async def __call__(
        self, asked: Asked, rollouts: Sequence[Rollout], items: Mapping[str, Item]
    ) -> tuple[list[Row], Usage]:
        """The adapter's patches, and what its own calls used. What it raises stops the run: it is the author's code."""
        with self.rolling.folder(f"reflect-{asked.at}") as folder, witnessed() as seen:
            results = [self._row(rollout, items) for rollout in rollouts]
            _write_conversations(folder / "predictions", rollouts)
            try:
                found = await in_thread(lambda: self._reflect(asked, results, folder))
            except ModelError as error:
                raise StageStopped(
                    f"the reflect of {self.rolling.name} had no answer from a model ({asked.at}, {error.kind}): "
                    f"{error}. Everything so far is kept; run the same command again: it continues here."
                ) from error
            except SkillOptError:
                raise
            except Exception as error:
                raise SkillOptError(f"the reflect of {self.rolling.name} failed: {described(error)}") from error
        usage = seen.usage(of_target=False) + seen.usage(of_target=True)
        return [dict(row) for row in cast("Sequence[Row | None]", found or ()) if row], usage

    def _reflect(self, asked: Asked, results: list[Row], folder: Path) -> JSON:
        (folder / "patches").mkdir()
        # This runs in a context of its own, which ends with the thread.
        SHARED_REFLECT.set(asked.shared)
        return self.adapter.reflect(
            results,
            asked.skill,
            str(folder),
            prediction_dir=str(folder / "predictions"),
            patches_dir=str(folder / "patches"),
            random_seed=asked.seed,
            step_buffer_context=asked.previous_steps,
            meta_skill_context=asked.meta_skill,
        )

    def _row(self, rollout: Rollout, items: Mapping[str, Item]) -> Row:
        reference = self.adapter.build_reference_text(dict(items[rollout.item].data))
        return result_row(rollout) | ({"reference_text": reference} if reference else {})


def overrides_reflect(adapter: EnvAdapter) -> bool:
    return type(adapter).reflect is not EnvAdapter.reflect


def _write_conversations(folder: Path, rollouts: Sequence[Rollout]) -> None:
    for rollout in rollouts:
        place = folder / safe_name(rollout.item)
        place.mkdir(parents=True, exist_ok=True)
        turns = [{"role": turn.role, "content": turn.text} for turn in rollout.trajectory]
        (place / "conversation.json").write_text(json.dumps(turns, ensure_ascii=False, indent=2), encoding="utf-8")
