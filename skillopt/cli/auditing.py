"""Where an audit of data gets its parts: the benchmark reads its own rows, statistics say what sizes can show."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

from skillopt.datasets.audit import Audit, audit
from skillopt.datasets.base import SplitDataLoader
from skillopt.datasets.checks import checked_items
from skillopt.datasets.prepare.material import MANIFEST
from skillopt.datasets.roles import ROLES, Roles
from skillopt.datasets.splits import NAMES
from skillopt.envs.base import Benchmark, DataSource
from skillopt.envs.own.columns import Wanted, fields_of
from skillopt.errors import ConfigError, DataError, PluginError
from skillopt.evaluation.statistics import detectable_lift
from skillopt.registry import BENCHMARKS, load, names
from skillopt.types import JSON

Problems = tuple[str, ...]
Rows = Mapping[str, Sequence[Mapping[str, JSON]]]


@dataclass(frozen=True, slots=True)
class Report:
    """An audit and what it was of; `told` says how the rows were read."""

    folder: Path
    benchmark: str
    told: str
    audit: Audit

    def to_dict(self) -> dict[str, JSON]:
        return {
            "folder": str(self.folder),
            "benchmark": self.benchmark,
            "told": self.told,
            "counts": dict(self.audit.counts),
            "ok": self.audit.sound,
            "findings": [finding.to_dict() for finding in self.audit.findings],
        }


def audited(folder: Path, name: str, environ: Mapping[str, str]) -> Report:
    """Audit a split directory; a directory that is none raises a `DataError`."""
    if not folder.is_dir():
        raise DataError(f"{folder} is not a directory.")
    said = name or _in_manifest(folder)
    benchmark = _benchmark(name, folder) if name else _recognised(said, folder)
    source = DataSource(split_mode="split_dir", split_dir=str(folder))
    rows = benchmark.rows(source) if benchmark else _rows(source)
    roles, told = _roles(said, rows, folder)
    problems, settings = _problems(benchmark, source, rows)
    folders = _folders(folder, environ)
    result = audit(rows, roles, lift=detectable_lift, problems=problems, settings=settings, folders=folders)
    general = "" if benchmark or not said else f"; {said} could not be loaded, so its own checks were left out"
    return Report(folder, said, f"{said or 'no benchmark named'}, {told}{general}", result)


def _in_manifest(folder: Path) -> str:
    try:
        value = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return str(cast("dict[str, JSON]", value).get("benchmark") or "") if isinstance(value, dict) else ""


def _benchmark(name: str, folder: Path) -> Benchmark:
    """The benchmark with files looked for below the folder, where it has a say in that."""
    found = load(BENCHMARKS, name)
    if not issubclass(found, Benchmark):
        raise DataError(f"{name} is not a benchmark of this house, so it cannot check rows.")
    return found.configured({"data_root": str(folder)} if "data_root" in found.Config.model_fields else {})


def _recognised(name: str, folder: Path) -> Benchmark | None:
    """The benchmark a manifest names; nobody asked for it, so the general checks go on without it."""
    try:
        return _benchmark(name, folder) if name in names(BENCHMARKS) else None
    except PluginError:
        return None


def _rows(source: DataSource) -> Rows:
    loader = SplitDataLoader(**asdict(source))
    loader.setup({})
    return {name: loader.items_of(name) for name in NAMES}


def _problems(benchmark: Benchmark | None, source: DataSource, rows: Rows) -> tuple[Problems, Problems]:
    """What the benchmark says of the rows, and what of settings; a setting it lacks does not keep rows from a look."""
    if benchmark is None:
        return (), ()
    try:
        benchmark.load(source)
    except (DataError, ConfigError) as error:
        if not all(problem.startswith("env.") for problem in error.problems):
            return error.problems, ()
        return _row_by_row(benchmark, rows), error.problems
    return (), ()


def _row_by_row(benchmark: Benchmark, rows: Rows) -> Problems:
    try:
        checked_items(rows, make=benchmark.item, required=benchmark.required)
    except DataError as error:
        return error.problems
    return ()


def _roles(name: str, rows: Rows, folder: Path) -> tuple[Roles, str]:
    """The benchmark's fields, or those that the columns' names suggest, or all text there is."""
    if name in ROLES:
        return ROLES[name], "fields as the benchmark has them"
    every = [row for found in rows.values() for row in found]
    try:
        fields = fields_of(every, Wanted(), str(folder))
    except DataError:
        texts = tuple(dict.fromkeys(key for row in every for key, value in row.items() if isinstance(value, str)))
        question = tuple(key for key in texts if key not in ("id", "split", "task_type"))
        return Roles(question), f"all text fields taken as the question: {', '.join(question) or 'none'}"
    answer = (fields.answer,) if fields.answer else ()
    return Roles(
        fields.input, answer=answer
    ), f"question {' and '.join(fields.input)}, answer {fields.answer or 'none'}"


def _folders(folder: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
    games = environ.get("ALFWORLD_DATA", "")
    return (folder, Path(), *((Path(games).expanduser(),) if games else ()))
