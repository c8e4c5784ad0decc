"""Rows out of an adapter, and environments for chosen rows back in.

The run decides which item is attempted when, so an environment must hold exactly the rows it is asked for.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping, Sequence
from typing import cast

from skillopt.datasets.base import BatchSpec, SplitDataLoader
from skillopt.datasets.splits import NAMES, SplitName
from skillopt.envs.batch import EnvAdapter, Row
from skillopt.errors import DataError, PluginError
from skillopt.types import JSON

log = logging.getLogger(__name__)

ASKED_AS: Mapping[str, str] = {"train": "train", "val": "valid_seen", "test": "valid_unseen"}
"""The names under which the guide's trainer asks for splits."""


def rows_of(adapter: EnvAdapter, seed: int) -> dict[str, list[Row]]:
    """All rows of the three splits, by the adapter's loader or from its plain lists."""
    return {name: _rows(adapter, name, seed) for name in NAMES}


def environment(adapter: EnvAdapter, rows: Sequence[Row], split: str, seed: int) -> JSON:
    """What `rollout` is given for these rows, which are copies: a rollout may write into them."""
    fresh = copy.deepcopy(list(rows))
    if _overridden(adapter, "build_env_from_batch"):
        phase = "train" if split == "train" else "eval"
        return adapter.build_env_from_batch(BatchSpec(phase, ASKED_AS[split], seed, len(fresh), fresh))
    loader = adapter.get_dataloader()
    if loader is None:
        return fresh
    narrow = _narrowed(adapter, loader, fresh)
    if split == "train":
        return narrow.build_train_env(len(fresh), seed)
    return narrow.build_eval_env(len(fresh), ASKED_AS[split], seed)


def check(adapter: EnvAdapter) -> None:
    """Refuse what cannot be driven item by item, before anything is paid for."""
    name = type(adapter).__name__
    if adapter.requires_ray():
        raise PluginError(f"{name} asks for Ray (requires_ray); attempts run in this process. Return False.")
    loader = adapter.get_dataloader()
    known = isinstance(loader, SplitDataLoader | None)
    if not known and not _overridden(adapter, "build_env_from_batch"):
        raise PluginError(
            f"{name} has a loader of its own kind, so nobody knows how to build an environment for chosen items: "
            "override build_env_from_batch(batch), which is given them as batch.payload."
        )

    if isinstance(loader, SplitDataLoader) and type(loader).plan_train_epoch is not SplitDataLoader.plan_train_epoch:
        log.warning("%s.plan_train_epoch is not called: the run plans its epochs itself", type(loader).__name__)


def _rows(adapter: EnvAdapter, name: SplitName, seed: int) -> list[Row]:
    loader, split = adapter.get_dataloader(), ASKED_AS[name]
    if loader is None:
        found: JSON = adapter.build_eval_env(0, split, seed)
    else:
        found = loader.build_eval_batch(env_num=0, split=split, seed=seed).payload
    if not isinstance(found, (list, tuple)) or not all(isinstance(row, Mapping) for row in cast("list[JSON]", found)):
        raise DataError(
            f"{type(adapter).__name__} gives no list of rows for the split {split!r}: its get_dataloader must return a "
            "loader whose build_eval_batch has them as payload, or its build_eval_env must return the list itself."
        )
    return [dict(row) for row in cast("list[Row]", found)]


def _narrowed(adapter: EnvAdapter, loader: JSON, rows: list[Row]) -> EnvAdapter:
    """The adapter, seeing only these rows: a copy whose loader holds nothing else, so its builders find no other."""
    few = copy.copy(loader)
    few.train_items = few.val_items = few.test_items = rows
    narrow = copy.copy(adapter)
    for name, value in vars(adapter).items():
        if value is loader:
            setattr(narrow, name, few)
    return narrow


def _overridden(adapter: EnvAdapter, method: str) -> bool:
    return vars(EnvAdapter)[method] is not next(vars(c)[method] for c in type(adapter).__mro__ if method in vars(c))
