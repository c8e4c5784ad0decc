"""The public guide's door to data: `SplitDataLoader`, which benchmark authors subclass, and the batches it hands out.

Inside, the engine works with `Splits` and `epoch_plan`; this class keeps the guide's mutable, dict-shaped manners at
the boundary and draws the same shuffles from the same seeds.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.datasets.plan import epoch_slices, shuffled
from skillopt.datasets.sources import data_files, read_rows
from skillopt.datasets.splits import NAMES, SplitName, canonical_split, materialise, split_by_ratio
from skillopt.errors import DataError
from skillopt.types import JSON

logger = logging.getLogger(__name__)

_MODES = ("ratio", "split_dir")


@dataclass(frozen=True, slots=True)
class BatchSpec:
    """What one batch consists of. `split` is the name that was asked for; `payload` holds the rows."""

    phase: str
    split: str
    seed: int
    batch_size: int
    payload: list[dict[str, JSON]] | None = None
    metadata: dict[str, JSON] = field(default_factory=dict[str, JSON])


class SplitDataLoader:
    """Rows of a data set in three splits.

    Override `load_split_items` to read your own layout, and `load_raw_items` for an own source in ratio mode.
    """

    def __init__(
        self,
        split_dir: str = "",
        data_path: str = "",
        split_mode: str = "ratio",
        split_ratio: str = "2:1:7",
        split_seed: int = 42,
        split_output_dir: str = "",
        seed: int = 42,
        limit: int = 0,
        **_ignored: JSON,
    ) -> None:
        self.split_dir = split_dir
        self.data_path = data_path
        self.split_mode = split_mode
        self.split_ratio = split_ratio
        self.split_seed = split_seed
        self.split_output_dir = split_output_dir
        self.seed = seed
        self.limit = limit
        self.out_root = ""
        self.train_items: list[dict[str, JSON]] = []
        self.val_items: list[dict[str, JSON]] = []
        self.test_items: list[dict[str, JSON]] = []

    def setup(self, cfg: Mapping[str, JSON]) -> None:
        """Fill what the constructor left empty from the configuration, then load all splits."""
        self.split_mode = str(self.split_mode or cfg.get("split_mode") or "ratio")
        self.split_dir = str(self.split_dir or cfg.get("split_dir") or "")
        self.data_path = str(self.data_path or cfg.get("data_path") or "")
        self.split_output_dir = str(self.split_output_dir or cfg.get("split_output_dir") or "")
        self.split_seed = int(self.split_seed or cfg.get("split_seed") or self.seed)
        self.out_root = str(self.out_root or cfg.get("out_root") or "")
        if self.split_mode not in _MODES:
            raise DataError(f"There is no split_mode {self.split_mode!r}: choose {' or '.join(_MODES)}.")
        if self.split_mode == "ratio":
            self._load_by_ratio(str(cfg.get("env") or "data"))
        elif not self.split_dir:
            raise DataError("split_mode split_dir needs split_dir: a directory with train/, val/ and test/.")
        else:
            self._load_from(Path(self.split_dir))

    def load_split_items(self, split_path: str) -> list[dict[str, JSON]]:
        """The rows of one split directory: its first data file by name."""
        files = data_files(Path(split_path))
        if not files:
            raise DataError(f"No .json, .jsonl or .csv file in {split_path}.")
        chosen, *others = files
        if others:
            logger.warning("%s: reading %s, ignoring %s", split_path, chosen.name, ", ".join(f.name for f in others))
        return read_rows(chosen)

    def load_raw_items(self, data_path: str) -> list[dict[str, JSON]]:
        """The rows that ratio mode cuts: one file, or the only data file of a directory."""
        path = Path(data_path)
        if not path.is_dir():
            return read_rows(path)
        if any((path / name).is_dir() for name in NAMES):
            raise DataError(f"{path} is already split: set split_mode to split_dir and split_dir to {path}.")
        files = data_files(path)
        if len(files) != 1:
            found = ", ".join(f.name for f in files) or "none"
            raise DataError(f"{path} must hold exactly one data file, found {found}. Set data_path to the file itself.")
        return read_rows(files[0])

    def build_train_batch(self, batch_size: int, seed: int, **_ignored: JSON) -> BatchSpec:
        """A random batch of training rows."""
        return _spec("train", "train", seed, shuffled(self.train_items, seed)[:batch_size])

    def plan_train_epoch(
        self, *, epoch: int, steps_per_epoch: int, accumulation: int, batch_size: int, seed: int, **_ignored: JSON
    ) -> list[BatchSpec]:
        """All batches of an epoch (counted from 1), in order."""
        batches = steps_per_epoch * accumulation
        slices = epoch_slices(self.train_items, epoch=epoch, batches=batches, batch_size=batch_size, seed=seed)
        return [_spec("train", "train", piece.seed, piece.rows) for piece in slices]

    def build_eval_batch(self, env_num: int, split: str, seed: int, **_ignored: JSON) -> BatchSpec:
        """The first `env_num` rows of a split in file order; 0 means all."""
        rows = self.items_of(split)
        return _spec("eval", split, seed, rows[:env_num] if 0 < env_num < len(rows) else rows)

    def items_of(self, split: str) -> list[dict[str, JSON]]:
        """The rows of a split, by any of its names."""
        rows = {"train": self.train_items, "val": self.val_items, "test": self.test_items}
        return rows[canonical_split(split)]

    def get_train_size(self) -> int | None:
        return len(self.train_items) or None

    def set_out_root(self, out_root: str) -> None:
        self.out_root = out_root

    def state_dict(self) -> dict[str, JSON]:
        """Nothing is carried from step to step: every batch follows from its seed."""
        return {}

    def load_state_dict(self, state: Mapping[str, JSON]) -> None:
        """The counterpart of `state_dict`, for subclasses that keep state."""

    def _load_from(self, folder: Path) -> None:
        absent = [name for name in NAMES if not (folder / name).is_dir()]
        if absent:
            raise DataError(f"{folder}: no directory {', '.join(f'{name}/' for name in absent)}.")
        self.train_items, self.val_items, self.test_items = (self._limited(folder, name) for name in NAMES)

    def _limited(self, folder: Path, name: SplitName) -> list[dict[str, JSON]]:
        rows = self.load_split_items(str(folder / name))
        return rows[: self.limit] if self.limit > 0 else rows

    def _load_by_ratio(self, env: str) -> None:
        """Cut the source, keep the cut where the run can show it, and read it back as any other split directory.

        Without a place to keep it the cut passes through a temporary directory, so that `load_split_items` always
        sees files.
        """
        if not self.data_path:
            raise DataError("split_mode ratio needs data_path: the file to cut into train, val and test.")
        rows = self.load_raw_items(self.data_path)
        if not rows:
            raise DataError(f"{self.data_path}: there are no items to split.")
        with tempfile.TemporaryDirectory(prefix="skillopt-split-") as scratch:
            folder = self._kept_at(env) or Path(scratch)
            cut = split_by_ratio(rows, self.split_ratio, self.split_seed)
            source = Path(self.data_path).resolve()
            materialise(cut, folder, source=source, ratio=self.split_ratio, seed=self.split_seed)
            self._load_from(folder)

    def _kept_at(self, env: str) -> Path | None:
        if self.split_output_dir:
            return Path(self.split_output_dir).resolve()
        if not self.out_root:
            return None
        name = f"{env}_{self.split_ratio.replace(':', '-')}_seed{self.split_seed}"
        return Path(self.out_root).resolve() / "_generated_splits" / name


def _spec(phase: str, split: str, seed: int, rows: Sequence[dict[str, JSON]]) -> BatchSpec:
    return BatchSpec(phase, split, seed, len(rows), list(rows))
