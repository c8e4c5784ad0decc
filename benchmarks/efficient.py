"""What `configs/features/efficient.yaml` saves: against the paper's protocol, on the synthetic world, in this process.

    python benchmarks/efficient.py [seeds]

One answer in ten is flipped, and the optimizer proposes harmful edits now and then. The same items and world for both,
training and selection splits of SearchQA's size; target calls are all calls to the target, the final test included.
Wanted: a test score at least as high with at most 40% of the calls. The settings were chosen on other seeds.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import fmean, stdev

from skillopt import app
from skillopt.agents.chat import ChatAgent
from skillopt.brought import Brought
from skillopt.config.load import Override
from skillopt.journal.view import RunView
from skillopt.testing.knacks import BY_ASK, QUESTION
from skillopt.testing.scripted import ScriptedProvider
from skillopt.testing.world import World, write_split

CONFIGS = Path(__file__).parents[1] / "configs"
SIZES = (400, 200, 200)
FIRST_SEED = 101
NOISE = 0.1


def run(feature: str, seed: int, home: Path) -> tuple[float, float, int, int]:
    """Test score, true test score (without noise), target calls, and target calls before the final test."""
    config = home / f"{feature}.yaml"
    config.write_text(f"_base_: [{CONFIGS}/searchqa/default.yaml, {CONFIGS}/features/{feature}.yaml]\n")
    write_split(home / "split", *SIZES, seed=seed)
    world = World(seed, noise=NOISE, habit="gate-colour")
    target, optimizer = ScriptedProvider(world), ScriptedProvider(world)
    settings = {"env.split_dir": str(home / "split"), "env.out_root": str(home / feature), "train.seed": seed}
    loaded = app.load(config, [Override(key, value, "benchmark") for key, value in settings.items()])
    brought = Brought(target=ChatAgent(target), optimizer=optimizer)
    view = asyncio.run(app.run_training(loaded, environ={}, brought=brought)).view
    assert view.finished and view.finished.best_test and view.state
    tested = len(view.rollouts_of("test"))
    return view.finished.best_test.hard or 0.0, _truth(world, view), len(target.requests), len(target.requests) - tested


def _truth(world: World, view: RunView) -> float:
    """The share of test items whose knack the best skill masters: what the test score is without the flips."""
    assert view.state
    reading = world.read(view.state.best.text)
    rows = {row.item: row.task for row in view.rollouts_of("test")}
    found = [QUESTION.search(task) for task in rows.values()]
    return fmean(bool(m and reading.masters(BY_ASK[m.group(2)])) for m in found)


def both(seed: int) -> tuple[tuple[float, float, int, int], tuple[float, float, int, int]]:
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as home:
        return run("paper", seed, Path(home)), run("efficient", seed, Path(home))


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(both, range(FIRST_SEED, FIRST_SEED + seeds)))
    paper, efficient = zip(*rows, strict=True)
    train, val, test = SIZES
    print(f"{seeds} seeds; {train} training, {val} selection, {test} test items; {NOISE:.0%} of answers flip\n")
    print("| | test score | without the flips | target calls | before the test |\n|---|---|---|---|---|")
    for name, runs in (("paper", paper), ("efficient", efficient)):
        means = [fmean(values) for values in zip(*runs, strict=True)]
        print(f"| {name} | {means[0]:.3f} | {means[1]:.3f} | {means[2]:.0f} | {means[3]:.0f} |")
    changes = [after[0] - before[0] for before, after in rows]
    share = sum(row[2] for row in efficient) / sum(row[2] for row in paper)
    error = stdev(changes) / len(changes) ** 0.5 if len(changes) > 1 else 0.0
    print(f"\ntest score {fmean(changes):+.3f} (standard error {error:.3f}) with {share:.0%} of the calls")


if __name__ == "__main__":
    main()
