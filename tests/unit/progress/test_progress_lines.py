"""The lines and the summary of a synthetic run, folded by the real view."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from skillopt.journal.events import (
    Body,
    Decided,
    Event,
    Finished,
    Reflected,
    RolloutDone,
    RunStarted,
    RunStopped,
    Selected,
    SlowUpdated,
    StageStarted,
)
from skillopt.journal.view import RunView
from skillopt.model.meter import Stats
from skillopt.progress import LiveDisplay, PlainLines, pick_watcher, summary, summary_text
from skillopt.progress.words import apart, duration, tokens
from skillopt.types import Decision, Edit, Failure, Patch, Reflection, Rollout, Score, Tally, Usage

PATCH = Patch(edits=(Edit(content="- Be brief."), Edit(content="- Copy names.")))
SEED, BETTER = "# Skill\n", "# Skill\n\n- Be brief.\n"


def started(**optimizer: object) -> RunStarted:
    rate = {"learning_rate": 4, "lr_scheduler": "cosine", "use_slow_update": True}
    resolved = {"env": {"name": "searchqa"}, "optimizer": rate | optimizer}
    plan = {"steps_per_epoch": 2, "total_steps": 8, "epochs": 4, "workers": 24}
    config = {"resolved": resolved}
    return RunStarted(skillopt="0", config=config, prompts={}, data={}, seed_skill=SEED, plan=plan)


def rollout(item: str, hard: float | None, at: str = "e01s01") -> RolloutDone:
    score = None if hard is None else Score(hard, hard)
    failure = Failure("timeout", "no answer in 120 s") if hard is None else None
    usage = Usage(calls=1, prompt_tokens=100, completion_tokens=10)
    row = Rollout(item, item, "s", at, "qa", score, failure, usage=usage)
    return RolloutDone(at=at, stage="train", rollout=row)


def decided(at: str, action: str, objective: float | None, bar: float | None = None, reason: str = "") -> Decided:
    text = SEED if action == "baseline" else BETTER
    tally = Tally(40, objective, objective) if objective is not None else None
    made = Decision(at, action, text, "p", "o", objective=objective, tally=tally, bar=bar, reason=reason)  # type: ignore[arg-type]
    return Decided(decision=made)


def shown(*bodies: Body) -> tuple[list[str], RunView]:
    page = io.StringIO()
    view, watcher = RunView(), PlainLines(Console(file=page, width=60))
    watcher.start(view, Stats(), Stats())
    for seq, body in enumerate(bodies):
        event = Event(seq=seq, ts=1000.0 + seq, key=str(seq), body=body)  # type: ignore[arg-type]
        view.apply(event)
        watcher.event(view, event)
    watcher.stop()
    return page.getvalue().splitlines(), view


RUN: tuple[Body, ...] = (
    started(),
    decided("baseline", "baseline", 0.2),
    StageStarted(at="e01s01", stage="rollout", of=3),
    rollout("a", 1.0),
    rollout("b", 0.0),
    rollout("c", None),
    Reflected(at="e01s01", index=0, reflection=Reflection("failure", ("b",), PATCH)),
    Reflected(at="e01s01", index=1, reflection=Reflection("success", ("a",), lost="not JSON")),
    Selected(at="e01s01", pool=PATCH, patch=PATCH, budget=4),
    decided("e01s01", "accept_new_best", 0.68, 0.2),
)


def test_a_step_reads_as_in_the_guide() -> None:
    lines, _ = shown(*RUN)
    assert lines == [
        "[slow update] acceptance=force",
        "[Baseline] val score 0.20 (40 items)",
        "[Step 1/8] Rollout: 3 items, 24 workers...",
        "[Step 1/8] No result for item c (timeout): no answer in 120 s",
        "[Step 1/8] Score: 0.50 → Reflect...",
        "[Step 1/8] Reflection lost (1 trajectory): not JSON",
        "[Step 1/8] 1 edit patch generated",
        "[Step 1/8] Selected 2 edits (lr=4, cosine → 4)",
        "[Step 1/8] Gate: val score 0.68 > 0.20 ✓ ACCEPT",
    ]


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (decided("e02s01", "reject", 0.61, 0.65), "[Step 3/8] Gate: val score 0.61 ≤ 0.65 ✗ REJECT"),
        (decided("e02s01", "accept", 0.6542, 0.6511), "[Step 3/8] Gate: val score 0.654 > 0.651 ✓ ACCEPT"),
        (decided("e02s01", "reject", 0.65, 0.65), "[Step 3/8] Gate: val score 0.65 ≤ 0.65 ✗ REJECT"),
        (decided("e02s01", "reject", 0.7, 0.6, "0.5 is below"), "[Step 3/8] Gate: ✗ REJECT (0.5 is below)"),
        (decided("e02s01", "skip_no_change", None, 0.6, "nothing fits"), "[Step 3/8] Gate: skipped, nothing fits"),
        (decided("e02s01", "force_accept", 0.6, 0.7), "[Step 3/8] Gate: off, val score 0.60 ✓ ACCEPT"),
        (decided("slow/e02", "force_accept", None, 0.7), "[Epoch 2] slow update: ✓ applied without a measurement"),
        (decided("final", "promote", 0.7, 0.6, "measured"), "[Final] val score 0.70, the new best (measured)"),
        (SlowUpdated(epoch=2, content="", lost="no change"), "[Epoch 2] slow update: no guidance (no change)"),
        (
            SlowUpdated(epoch=2, content="x", prev_hard=0.5, curr_hard=0.6),
            "[Epoch 2] slow update: guidance written (training items 0.50 → 0.60)",
        ),
        (RunStopped(reason="two\nlines"), "[Run] stopped: two lines"),
        (
            Finished(baseline_test=Tally(60, 0.4, 0.5), best_test=Tally(59, 0.55, 0.6, 1)),
            "[Test] score 0.40 → 0.55 (59 items, 1 without a result)",
        ),
    ],
)  # fmt: skip
def test_other_milestones(body: Body, line: str) -> None:
    lines, _ = shown(started(use_slow_update=False), body)
    assert lines == [line]


def test_the_gated_slow_update_is_announced() -> None:
    lines, _ = shown(started(slow_update_gate_with_selection=True))
    assert lines == ["[slow update] acceptance=gated"]


def test_a_resumed_run_says_where_it_stands() -> None:
    _, view = shown(*RUN)
    page = io.StringIO()
    PlainLines(Console(file=page)).start(view, Stats(), Stats())
    assert page.getvalue().startswith("[Run] continuing after 1 of 8 steps\n")


def test_item_names_are_not_markup() -> None:
    lines, _ = shown(started(use_slow_update=False), rollout("[red]x[/]", None))
    assert "[red]x[/]" in lines[0]


def test_the_summary_holds_what_a_person_asks_first() -> None:
    best = Finished(baseline_test=Tally(60, 0.4, 0.5), best_test=Tally(60, 0.55, 0.6))
    _, view = shown(*RUN, decided("e01s02", "reject", 0.6, 0.68), best)
    text = summary_text(view, Path("outputs/x"))
    for part in (
        "finished", "0.20 → 0.68 (40 items)", "hard 0.40 → 0.55, soft 0.50 → 0.60 (60 items)", "1 accepted, 1 rejected",
        "1 attempt without a result (timeout 1)", "1 reflection could not be used", "300 tokens in, 30 out (3 calls)",
        "outputs/x/best_skill.md", "+- Be brief.",
    ):  # fmt: skip
        assert part in text


def test_an_unchanged_skill_is_said_in_words() -> None:
    _, view = shown(started(), decided("baseline", "baseline", 0.2), Finished())
    assert "The best skill is the seed skill." in summary_text(view, Path("x"))


def test_an_empty_view_has_a_summary() -> None:
    assert "empty" in summary_text(RunView(), Path("x"))


def test_colours_only_where_the_console_has_them() -> None:
    _, view = shown(*RUN)
    for system, coloured in ((None, False), ("standard", True)):
        page = io.StringIO()
        console = Console(file=page, force_terminal=True, color_system=system, width=100, no_color=not coloured)  # type: ignore[arg-type]
        console.print(summary(view, Path("x")), soft_wrap=True)
        assert ("\x1b[32m+- Be brief." in page.getvalue()) is coloured


def test_the_live_panel_fits_80_columns_and_names_what_goes_on() -> None:
    page = io.StringIO()
    console = Console(file=page, force_terminal=True, width=80, color_system=None)
    live = LiveDisplay(console)
    view = RunView()
    stats = Stats(24, 24, 3, {"rate_limited": 3}, {"rollout": Usage(calls=320, prompt_tokens=1_200_000)})
    live.start(view, stats, Stats())
    for seq, body in enumerate(RUN[:5]):
        event = Event(seq=seq, ts=1000.0 + seq, key=str(seq), body=body)  # type: ignore[arg-type]
        view.apply(event)
        live.event(view, event)
    panel = live._panel(view, stats, Stats(), 75.0)
    live.stop()
    flat = io.StringIO()
    Console(file=flat, width=80).print(panel)
    text = flat.getvalue()
    for part in ("searchqa · step 1/8 · epoch 1/4 · 1m 15s", "Rollout", "2/3", "best 0.20", "24 in flight", "1.2M in"):
        assert part in text
    assert "3×rate_limited" in text and max(map(len, text.splitlines())) <= 80
    assert "[Baseline] val score 0.20 (40 items)" in page.getvalue()


def test_the_display_follows_the_terminal() -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True)
    assert isinstance(pick_watcher(terminal, plain=False), LiveDisplay)
    assert isinstance(pick_watcher(terminal, plain=True), PlainLines)
    assert isinstance(pick_watcher(Console(file=io.StringIO()), plain=False), PlainLines)


def test_numbers_for_people() -> None:
    assert apart(0.5, 0.5) == ("0.50", "0.50") and apart(0.50001, 0.50002) == ("0.50001", "0.50002")
    assert (tokens(9999), tokens(12_345), tokens(1_250_000)) == ("9999", "12k", "1.2M")
    assert (duration(5), duration(65), duration(3700)) == ("5s", "1m 05s", "1h 01m")
