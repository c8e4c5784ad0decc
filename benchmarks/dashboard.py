"""A run of 100,000 events and 10,000 items in the dashboard: first paint, live update, memory.

    python benchmarks/dashboard.py [--events 100000] [--items 10000] [--chromium /usr/bin/chromium]

The journal is synthetic, the dashboard and the browser are real. Wanted: first paint within 1 s, also on a server that
has not read the journal yet; a live update within 1 s of its event; memory that does not grow with looking.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page, sync_playwright

from skillopt.journal.codec import encode
from skillopt.journal.events import AnyBody, Decided, Event, RolloutDone, RunStarted, StageStarted
from skillopt.skill.document import Skill
from skillopt.types import Decision, Rollout, Score, Tally, Turn, Usage, digest

ROOT = Path(__file__).parents[1]
SKILL = "# Rules\n\nBe brief.\n"
PASSAGE = "Some passage that a benchmark shows to its target. " * 20
RUN = "/runs/searchqa~large"


class Writer:
    """Writes a journal as a run does; large ones in one go."""

    def __init__(self, path: Path) -> None:
        self.path, self.seq, self.began = path, 0, time.time() - 3600
        path.parent.mkdir(parents=True)

    def lines(self, bodies: Iterator[AnyBody]) -> Iterator[bytes]:
        for body in bodies:
            self.seq += 1
            ts = min(time.time(), self.began + self.seq * 0.03)
            yield encode(Event(seq=self.seq, ts=ts, key=f"k{self.seq}", body=body), _no_blob)

    def append(self, bodies: Iterator[AnyBody]) -> None:
        with self.path.open("ab") as file:
            file.writelines(self.lines(bodies))


def _no_blob(text: str) -> str:
    raise AssertionError("the benchmark writes no long texts")


def history(events: int, items: int) -> Iterator[AnyBody]:
    per_step, skill = 500, Skill.parse(SKILL)
    steps = events // per_step
    plan = {"total_steps": steps + 10, "steps_per_epoch": steps + 10, "epochs": 1}
    config = {"resolved": {"env": {"name": "searchqa"}, "model": {"target": "t", "optimizer": "o"}}}
    yield RunStarted(skillopt="0", config=config, prompts={}, data={}, seed_skill=SKILL, plan=plan)
    yield Decided(
        decision=Decision("baseline", "baseline", SKILL, skill.digest, "initial_skill", 0.3, Tally(100, 0.3, 0.3))
    )
    for step in range(1, steps + 1):
        at = f"e01s{step:02d}"
        yield StageStarted(at=at, stage="rollout", of=per_step - 2)
        for n in range(per_step - 2):
            yield rollout(at, (step * per_step + n) % items, skill.digest)
        score = 0.3 + 0.5 * step / steps
        yield Decided(
            decision=Decision(at, "reject", SKILL, skill.digest, f"step_{step}", score, Tally(100, score, score), 0.9)
        )


def rollout(at: str, item: int, skill: str) -> RolloutDone:
    hard = float(item % 3 == 0)
    return RolloutDone(
        at=at,
        stage="train",
        rollout=Rollout(
            f"item-{item}", digest(f"item-{item}"), skill, at, "qa", Score(hard, hard, {"predicted": "x"}), None,
            answer="An answer of the usual length.", task=f"Question number {item}?",
            trajectory=(Turn("system", SKILL), Turn("user", PASSAGE), Turn("assistant", "An answer.")),
            usage=Usage(calls=1, prompt_tokens=300, completion_tokens=20),
        ),
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--chromium", default=shutil.which("chromium") or "/usr/bin/chromium")
    args = parser.parse_args()
    with TemporaryDirectory() as folder:
        home = Path(folder)
        writer = Writer(home / "outputs" / "searchqa" / "large" / "events.jsonl")
        writer.append(history(args.events, args.items))
        size = writer.path.stat().st_size / 1e6
        print(f"{writer.seq} events, {args.items} items, {size:.0f} MB; load {os.getloadavg()[0]:.1f}")
        with _dashboard(home) as (process, address), sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=args.chromium, args=["--no-sandbox"])
            _measure(browser, address, writer, process.pid)
            browser.close()


def _measure(browser: Browser, address: str, writer: Writer, pid: int) -> None:
    # The page's own policy forbids what `wait_for_function` does.
    page = browser.new_context(bypass_csp=True).new_page()
    print(f"first paint, nothing read yet   {_paint(page, address + RUN):6.2f} s")
    began = time.perf_counter()
    page.wait_for_function(
        "!document.querySelector('#runhead progress') && document.querySelector('#tiles')", timeout=120_000
    )
    print(f"whole journal read after        {time.perf_counter() - began:6.2f} s")
    for name, path in (
        ("run", ""),
        ("items", "/items"),
        ("items, searched", "/items?q=777"),
        ("item", f"/items/{digest('item-7')}"),
        ("step", "/steps/e01s50"),
        ("skill", "/skill"),
    ):
        print(f"first paint, {name:19}{_paint(page, address + RUN + path):6.2f} s")
    print(f"first paint, list of runs       {_paint(page, address + '/'):6.2f} s")
    before = _memory(pid)
    page.goto(address + RUN)
    page.wait_for_selector("#tiles")
    page.wait_for_timeout(1000)
    print(f"live update, median of 10       {sorted(_live(page, writer, n) for n in range(10))[5]:6.2f} s")
    for n in range(40):
        page.goto(address + RUN + ("" if n % 2 else f"/items?page={n}"))
    print(
        f"memory                          {before:6.0f} MB, after 40 pages and 1000 more events {_memory(pid):.0f} MB"
    )


def _paint(page: Page, address: str) -> float:
    """Seconds from the request to the first contentful paint, as the browser saw it."""
    page.goto(address)
    paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
    page.wait_for_function(paint)
    return float(page.evaluate(paint)) / 1000


def _live(page: Page, writer: Writer, n: int) -> float:
    """Seconds from a decision in the journal to the sight of it."""
    at, skill = f"e01s{500 + n}", Skill.parse(SKILL).digest
    writer.append(rollout(at, k, skill) for k in range(100))
    decision = Decision(at, "reject", SKILL, skill, f"step_x{n}", 0.5, Tally(100, 0.5, 0.5), 0.9, f"told {n}")
    began = time.perf_counter()
    writer.append(iter([Decided(decision=decision)]))
    page.wait_for_function(f"document.querySelector('#steps')?.textContent.includes('told {n}')", polling=20)
    return time.perf_counter() - began


def _memory(pid: int) -> float:
    """Resident megabytes of the dashboard's process."""
    line = next(row for row in Path(f"/proc/{pid}/status").read_text().splitlines() if row.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


@contextmanager
def _dashboard(home: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "skillopt_webui.app", "--port", "0", "--runs", str(home / "outputs")]
    environ = dict(os.environ) | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, cwd=home, env=environ, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
