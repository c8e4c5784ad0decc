"""The guide's batch form of a benchmark: `EnvAdapter`, four methods over batches of rows, driven by `bridge`.

It is a door: its signatures are the public guide's, loose dicts and all. What passes it is checked at once.
"""

from __future__ import annotations

import random
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from skillopt.datasets.base import BatchSpec
from skillopt.errors import SkillOptError
from skillopt.types import JSON

Row = dict[str, JSON]
SharedReflect = Callable[[Sequence[Mapping[str, JSON]]], list[Row]]

SHARED_REFLECT: ContextVar[SharedReflect | None] = ContextVar("skillopt_shared_reflect", default=None)
"""The run's own analysts, for an adapter whose `reflect` calls `super().reflect`."""

_PREVIEW = 400
_SUFFIXES = {"rewrite_from_suggestions": "_rewrite", "full_rewrite_minibatch": "_full_rewrite"}


class EnvAdapter(ABC):
    """A benchmark author's obligations in the batch form.

    1. The constructor names the settings it wants: keys of `env`, and the run's own under their flat names (`workers`,
       `seed`, `edit_budget` ...). No others are passed.
    2. Rows have an `id`, unique over the splits. `rollout` gives one result for each item it was given: `id`, `hard`
       and `soft` in [0, 1], and anything else analysts should see. An item without a result is missing data, not zero.
    3. A result depends on its own item and the skill alone, not on what else is in the batch.
    4. `rollout` runs in a thread, several at a time, each with a fresh `out_dir`; with `items_per_rollout` above 1 one
       call is under way at a time, with up to that many items. Models are called through `skillopt.model.chat_target`.
    5. A call that fails raises. A rollout that catches it says `agent_ok: False` with `phase` "error" or "timeout".
    """

    items_per_rollout: ClassVar[int] = 1

    _cfg: Mapping[str, JSON] = MappingProxyType({})

    def setup(self, cfg: Row) -> None:
        """Called once, with all settings under their flat names, before anything else is asked for."""
        self._cfg = dict(cfg)

    def get_dataloader(self) -> JSON:
        """The loader that holds the rows; without one, `build_eval_env` must give plain lists of them."""
        return None

    def requires_ray(self) -> bool:
        return False

    @abstractmethod
    def build_train_env(self, batch_size: int, seed: int, **kwargs: JSON) -> JSON:
        """Whatever `rollout` takes, for a sampled training batch."""

    @abstractmethod
    def build_eval_env(self, env_num: int, split: str, seed: int, **kwargs: JSON) -> JSON:
        """Whatever `rollout` takes, for the first `env_num` items of a split; 0 means all."""

    def build_env_from_batch(self, batch: BatchSpec, **kwargs: JSON) -> JSON:
        """Whatever `rollout` takes, for the rows of `batch.payload`. Overriding it is the plainest way to be exact."""
        if batch.phase == "train":
            return self.build_train_env(batch.batch_size, batch.seed, **kwargs)
        return self.build_eval_env(batch.batch_size, batch.split, batch.seed, **kwargs)

    @abstractmethod
    def rollout(self, env_manager: JSON, skill_content: str, out_dir: str, **kwargs: JSON) -> list[Row]:
        """Attempt and score every item of the batch."""

    @abstractmethod
    def get_task_types(self) -> list[str]:
        """Names for reports by category."""

    def reflect(
        self, results: list[Row], skill_content: str, out_dir: str, **kwargs: JSON
    ) -> Sequence[Mapping[str, JSON] | None]:
        """The run's analysts, one patch a minibatch. Override it for reflection of your own; `super()` still works."""
        shared = SHARED_REFLECT.get()
        if shared is None:
            raise SkillOptError("EnvAdapter.reflect asks the analysts of a run: it works inside a training run only")
        return shared(results)

    def get_error_minibatch_prompt(self) -> str | None:
        """The system prompt of the failure analyst: `prompts/analyst_error.md` beside the adapter, None = ours."""
        return self._prompt("analyst_error")

    def get_success_minibatch_prompt(self) -> str | None:
        return self._prompt("analyst_success")

    def build_reference_text(self, item: Mapping[str, JSON]) -> str:
        """Material that analysts may see (`gradient.use_reference`) and the target must not."""
        return str(item.get("reference_text") or "").strip()

    def get_reference_metadata(self, item: Mapping[str, JSON]) -> Row:
        text = self.build_reference_text(item)
        return {"fields": ["reference_text"] if text else [], "preview": text[:_PREVIEW]}

    def attach_reference_context(self, results: Iterable[Row], items: Iterable[Mapping[str, JSON]]) -> list[Row]:
        """The results with the reference text of their items, where there is one."""
        texts = {str(item["id"]): self.build_reference_text(item) for item in items}
        found = ((row, texts.get(str(row.get("id")), "")) for row in results)
        return [{**row, "reference_text": text} if text else row for row, text in found]

    def select_representative_items(
        self,
        results: Sequence[Mapping[str, JSON]],
        items: Sequence[Mapping[str, JSON]],
        n_failures: int,
        n_successes: int,
        seed: int,
    ) -> list[Mapping[str, JSON]]:
        """Failures first, then successes, of as many task types as there are; the order of equals is the seed's."""
        by_id = {str(item["id"]): item for item in items}
        known = [row for row in results if str(row.get("id")) in by_id]
        random.Random(seed).shuffle(known)
        failed = [row for row in known if not (row.get("hard") or 0) >= 1e-9]
        passed = [row for row in known if row not in failed]
        chosen = (*_diverse(failed, by_id, n_failures), *_diverse(passed, by_id, n_successes))
        return [by_id[name] for name in dict.fromkeys(chosen)]

    def _prompt(self, name: str) -> str | None:
        mode = str(self._cfg.get("skill_update_mode") or "")
        home = sys.modules[type(self).__module__].__file__
        file = Path(home or "").parent / "prompts" / f"{name}{_SUFFIXES.get(mode, '')}.md"
        return file.read_text(encoding="utf-8") if home and file.is_file() else None


def _diverse(
    rows: Sequence[Mapping[str, JSON]], items: Mapping[str, Mapping[str, JSON]], wanted: int
) -> tuple[str, ...]:
    """Ids of one row for each task type, then of the others, up to `wanted`."""
    first: dict[str, str] = {}
    for row in rows:
        item = items[str(row["id"])]
        kind = row.get("task_type") or item.get("task_type") or item.get("subtype") or "unknown"
        first.setdefault(str(kind), str(row["id"]))
    order = (*first.values(), *(str(row["id"]) for row in rows))
    return tuple(dict.fromkeys(order))[: max(0, wanted)]
