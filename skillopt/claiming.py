"""Measurements that a claim needs beside a run: the run's own parts put together once more, in a journal of their own.

They live in `RUN/claims/<name>`: the run itself is never written, a stopped measurement continues when asked again, and
whoever copies the run takes them along.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar, cast

from skillopt import __version__, app
from skillopt.app import Inputs
from skillopt.brought import NOTHING
from skillopt.chosen import label_of
from skillopt.claims.ablation import Ablated, ablated, documents
from skillopt.claims.calibration import PASSES, Calibration, calibrated, from_ledger
from skillopt.claims.figures import REPLICATE, Figures, figures
from skillopt.claims.ledger import VAL, Ledger, finished_training, setting
from skillopt.claims.replay import Policies
from skillopt.claims.reporting.content import Content, content
from skillopt.claims.reporting.files import check_reports
from skillopt.claims.shrinking import Limits, Shrunk, shrink
from skillopt.claims.verification import Check, Verified, verify
from skillopt.config.load import Loaded, Override
from skillopt.engine.parts import gate
from skillopt.engine.run import recordable
from skillopt.engine.session import Watcher
from skillopt.errors import ConfigError, DataError, SkillOptError
from skillopt.evaluation.gates import Off, Strict
from skillopt.journal.artifacts import CHECKSUM
from skillopt.journal.events import Finished, StageStarted
from skillopt.journal.log import Journal
from skillopt.journal.runs import first_record
from skillopt.prompts import Prompts
from skillopt.rollout.runner import Place, Runner
from skillopt.skill.document import Skill
from skillopt.together import together
from skillopt.types import JSON, Item, Rollout, canonical, digest

T = TypeVar("T")
CLAIMS = "claims"
HOPED = 0.05
"""The lift one hopes for when nobody says otherwise."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured: a configuration, and the run it came from if there is one."""

    loaded: Loaded
    environ: Mapping[str, str]
    run_dir: Path | None = None
    ledger: Ledger | None = None

    def home(self, claim: str) -> Path:
        if self.run_dir is not None:
            return self.run_dir / CLAIMS / claim
        name = digest(canonical(self.loaded.config.public()))
        return Path("outputs") / f"{claim}_{label_of(self.loaded.config.env.name)}_{name}"

    def inputs(self, claim: str) -> Inputs:
        """Everything checked, nothing called. Data that has changed since the run is refused."""
        brought = replace(NOTHING, skill=self.ledger.seed if self.ledger else None)
        found = app.checked_inputs(self.loaded, environ=self.environ, run_dir=self.home(claim), brought=brought)
        recorded = self.ledger.view.started.data if self.ledger and self.ledger.view.started else {}
        changed = [name for name, value in found.splits.digests().items() if recorded.get(name, value) != value]
        if changed:
            raise DataError(
                f"the data has changed since this run ({', '.join(changed)}), so nothing measured now could be "
                "compared with it. Bring back the items that the run was trained with."
            )
        return found


@dataclass(frozen=True, slots=True)
class Bench:
    """A place to measure documents on the run's items."""

    runner: Runner
    journal: Journal
    inputs: Inputs

    def items(self, split: str) -> tuple[Item, ...]:
        evaluation, found = self.inputs.config.evaluation, self.inputs.splits.of(split)
        limit = {"val": evaluation.sel_env_num, "test": evaluation.test_env_num}.get(split, 0)
        return found[:limit] if limit else found

    async def measure(self, skill: Skill, split: str, at: str, draw: str) -> dict[str, Rollout]:
        """Item digest -> rollout, each made once and recorded."""
        items = self.items(split)
        started = StageStarted(at=at, stage="eval", of=len(items))
        await self.journal.once(f"{at}/eval/started", recordable(started))
        rows = await self.runner.run(skill, items, Place(at, "eval", draw))
        return {row.item_digest: row for row in rows}


def subject_of(run_dir: Path, environ: Mapping[str, str]) -> Subject:
    """A run as something to measure further: its recorded settings, with this environment's keys."""
    ledger = Ledger.read(run_dir)
    if str(setting(ledger.view, "model", "target")).startswith("function:"):
        raise ConfigError(
            f"the target of {run_dir.name} is a Python function, which this command does not have. Measure from Python "
            "with skillopt.evaluate and the same function."
        )
    return Subject(loaded_of(ledger), environ, run_dir, ledger)


async def measured(
    subject: Subject, claim: str, work: Callable[[Bench], Awaitable[T]], watcher: Watcher | None = None
) -> T:
    """Do the work in the claim's own journal; what is on record already costs nothing."""
    inputs = subject.inputs(claim)
    started = app.started_of("eval", inputs, {"eval": {"claim": claim}})
    async with app.open_session(inputs, started, watcher, None) as open_run:
        bench = Bench(app.runner_of(inputs, open_run.journal), open_run.journal, inputs)
        result = await work(bench)
        await open_run.journal.once("finished", recordable(Finished()))
        return result


async def calibrate(
    subject: Subject, *, split: str = VAL, hoped: float = HOPED, watcher: Watcher | None = None
) -> Calibration | None:
    """Score the seed twice on one split; the test split stays closed."""

    async def work(bench: Bench) -> Calibration | None:
        one, two = await together(bench.measure(bench.inputs.skill, split, draw, draw) for draw in PASSES)
        return calibrated(one, two, app.objective_of(bench.inputs.config), test=len(bench.items("test")), hoped=hoped)

    return await measured(subject, "calibration", work, watcher)


async def replicate(subject: Subject, watcher: Watcher | None = None) -> Ledger:
    """The best document measured once more on the selection items, with draws of its own."""

    async def work(bench: Bench) -> None:
        assert subject.ledger is not None
        await bench.measure(subject.ledger.best, VAL, "replicate", REPLICATE)

    await measured(subject, "replicate", work, watcher)
    return Ledger.read(subject.home("replicate"))


async def ablate(subject: Subject, *, split: str = VAL, watcher: Watcher | None = None) -> tuple[Ablated, ...]:
    """The best document without each accepted edit in turn, all in one pass; the document itself is measured too."""
    assert subject.ledger is not None
    ledger, without = subject.ledger, documents(subject.ledger)

    async def work(bench: Bench) -> tuple[Ablated, ...]:
        jobs = [(ledger.best, "whole"), *((each.skill, each.name) for each in without)]
        whole, *rest = await together(bench.measure(skill, split, f"without/{name}", split) for skill, name in jobs)
        found = (ablated(whole, rows, each, ledger.objective) for rows, each in zip(rest, without, strict=True))
        return tuple(each for each in found if each is not None)

    return await measured(subject, "ablation" if split == VAL else f"ablation-{split}", work, watcher)


async def shorten(subject: Subject, skill: Skill, limits: Limits, *, watcher: Watcher | None = None) -> Shrunk:
    """A shorter document that keeps its score on the selection items."""

    async def work(bench: Bench) -> Shrunk:
        async def measure(document: Skill, name: str) -> Mapping[str, Rollout]:
            return await bench.measure(document, VAL, f"shrink/{digest(skill.text)[:6]}/{name}", VAL)

        return await shrink(skill, measure, app.objective_of(bench.inputs.config), limits)

    return await measured(subject, "shrink", work, watcher)


def figures_of(ledger: Ledger, run_dir: Path) -> Figures:
    """The figures of a run with the measurements that lie beside it; unfinished ones are left out."""
    again = _beside(run_dir, "replicate")
    return figures(ledger, _calibration(ledger, run_dir), again)


def _calibration(ledger: Ledger, run_dir: Path) -> Calibration | None:
    found = _beside(run_dir, "calibration")
    return from_ledger(found, test=ledger.view.plan.get("test", 0), hoped=HOPED) if found else None


def _beside(run_dir: Path, claim: str) -> Ledger | None:
    home = run_dir / CLAIMS / claim
    if first_record(home) is None:
        return None
    ledger = Ledger.read(home)
    return ledger if ledger.view.finished else None


def report_content(run_dir: Path) -> Content:
    """What the report of a finished run says."""
    ledger = finished_training(run_dir)
    checksum = run_dir / CHECKSUM
    said = checksum.read_text(encoding="utf-8").split()[:1] if checksum.is_file() else []
    reopened = (run_dir / CLAIMS / "ablation-test").is_dir()
    return content(ledger, figures_of(ledger, run_dir), said[0] if said else "", reopened=reopened)


def verified(run_dir: Path) -> Verified:
    """Check a run against its journal; nothing is called and nothing is written."""

    def extra(ledger: Ledger) -> tuple[Check, ...]:
        if ledger.view.kind != "train":
            return (_prompts(ledger),)
        now: JSON = json.loads(json.dumps(figures_of(ledger, run_dir).to_dict()))
        return check_reports(run_dir, now), _prompts(ledger)

    return verify(run_dir, policies_of, extra)


def policies_of(ledger: Ledger) -> Policies:
    """The gates that the run's own settings name; none where the benchmark is not installed here."""
    try:
        config = loaded_of(ledger).config
    except SkillOptError:
        return Policies()
    steps = gate(config, ledger.objective, ledger.view.plan.get("total_steps", 1))
    return Policies(steps, Strict(ledger.objective) if isinstance(steps, Off) else steps, config.train.seed)


def loaded_of(ledger: Ledger) -> Loaded:
    """The run's settings as recorded, without its cache: a cached answer would be no second measurement."""
    resolved = cast("Mapping[str, Mapping[str, JSON]]", ledger.view.config.get("resolved") or {})
    sections = {section: rows for section, rows in resolved.items() if section != "eval"}
    given = {f"{section}.{key}": value for section, rows in sections.items() for key, value in rows.items()}
    given |= {"model.cache_file": "", "env.out_root": ""}
    return app.load(None, [Override(key, value, "the run") for key, value in given.items()])


def _prompts(ledger: Ledger) -> Check:
    """The prompts of this installation against those of the run: another version may rightly have others."""
    started = ledger.view.started
    if started is None:
        return Check("prompts", 0)
    if started.skillopt != __version__:
        note = f"the run was made by SkillOpt {started.skillopt}, this is {__version__}: prompts were not compared"
        return Check("prompts", 0, (), (note,))
    ours = Prompts().digests()
    other = sorted(name for name, value in started.prompts.items() if ours.get(name, value) != value)
    note = f"the benchmark has its own, or these have changed since: {', '.join(other)}"
    return Check("prompts", len(started.prompts), (), (note,) if other else ())
