"""Settings for a run on somebody's own examples, where they say nothing themselves: small data, even split."""

from __future__ import annotations

from skillopt.envs.base import DataSource
from skillopt.envs.own.adapter import Own
from skillopt.envs.own.scoring import GRADED, kind_of
from skillopt.types import JSON

SPLIT = "2:1:2"
_FULL_BATCH = 40
_LEAST_BATCH = 4


def defaults_for(benchmark: Own, data_path: str) -> dict[str, JSON]:
    """The settings that fit these very examples; reading them finds whatever is wrong with the file."""
    source = DataSource(data_path=data_path)
    if benchmark.already_cut(source):
        rows = benchmark.rows(source)
        return defaults(
            len(rows.get("train", ())), str(rows["train"][0]["scorer"]) if rows.get("train") else "", cut=False
        )
    table = benchmark.table(source)
    return defaults(len(table.rows), table.scorer)


def defaults(examples: int, scorer: str, *, cut: bool = True) -> dict[str, JSON]:
    """Half of the training items a step, at most forty; partial credit counts where the scorer gives it.

    `examples` are all of them, or only the training items when the data comes already cut.
    """
    training = max(1, examples * 2 // 5) if cut else examples
    values: dict[str, JSON] = {"train.batch_size": max(_LEAST_BATCH, min(_FULL_BATCH, -(-training // 2)))}
    if cut:
        values["env.split_ratio"] = SPLIT
    if kind_of(scorer) in GRADED:
        values["evaluation.gate_metric"] = "soft"
    return values
