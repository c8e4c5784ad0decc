"""What a gate buys: whole runs of the real policies against proposals whose truth is known.

    python benchmarks/gates.py [repetitions]

Half of all proposals change nothing, 30% help, 20% harm (`gate_simulation/world.py`). For each gate: the true lift in
points, false accepts a run, evaluations relative to the paper's gate (every candidate on every item), and the true lift
when the run goes on until it has spent what the paper's gate spends.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from random import Random
from statistics import fmean

from gate_simulation.play import Setting, Tally, play
from gate_simulation.world import Edit

from skillopt.evaluation.gates import Certified, Evidence, Gate, Race, Strict, Wanted
from skillopt.evaluation.objective import Objective
from skillopt.types import Decision

SETTINGS = (Setting(17, 4, 0.4), Setting(40, 8, 0.1), Setting(40, 8, 0.4), Setting(200, 40, 0.1), Setting(200, 40, 0.4))
POOL = 4


@dataclass(frozen=True, slots=True)
class WholePass:
    """The paper's gate to the letter: `Strict`, asked for every item at once, so that it never stops early."""

    gate: Strict

    def wants(self, evidence: Evidence) -> Wanted:
        return Wanted(evidence.unmeasured)

    def decide(self, evidence: Evidence) -> Decision:
        return self.gate.decide(evidence)


GATES: dict[str, Callable[[Setting], Gate]] = {
    "strict, whole passes (the paper)": lambda s: WholePass(Strict(Objective())),
    "strict": lambda s: Strict(Objective()),
    "certified, alpha 0.05": lambda s: Certified(Objective(), looks=s.steps),
    "race, gamma 0.1": lambda s: Race(Objective()),
    "race, gamma 0.2": lambda s: Race(Objective(), gamma=0.2),
    "race, gamma 0.1, margin 0.5": lambda s: Race(Objective(), margin=0.5),
    "race, gamma 0.1, margin 1": lambda s: Race(Objective(), margin=1.0),
}


def single(random: Random) -> tuple[tuple[Edit, ...], ...]:
    """One proposal a step."""
    return ((Edit.draw(random),),)


def divided(k: int, random: Random) -> tuple[tuple[Edit, ...], ...]:
    """A pool of four edits a step, half the usual size each, in k patches."""
    pool = [Edit.draw(random, 0.5) for _ in range(POOL)]
    return tuple(tuple(pool[place::k]) for place in range(k))


def _repeat(gate: str, setting: Setting, k: int, seeds: range) -> list[Tally]:
    steps = partial(divided, k) if k else single
    return [play(GATES[gate](setting), setting, seed, steps) for seed in seeds]


def measured(pool: ProcessPoolExecutor, gate: str, setting: Setting, times: int, k: int = 0) -> list[Tally]:
    parts = [range(start, min(start + 25, times)) for start in range(0, times, 25)]
    return [tally for part in pool.map(partial(_repeat, gate, setting, k), parts) for tally in part]


def row(setting: Setting, runs: Sequence[Tally]) -> str:
    lift, false, spent = fmean(r.lift for r in runs), fmean(r.false for r in runs), fmean(r.spent for r in runs)
    return f"{lift:.1f} / {false:.2f} / {spent / setting.budget:.2f} / {fmean(r.at_budget for r in runs):.1f}"


def head(settings: Sequence[Setting], first: str) -> None:
    names = [f"n={s.n}, K={s.steps}, {s.flaky:.0%} flaky" for s in settings]
    print(f"| {first} | {' | '.join(names)} |\n|{'---|' * (len(names) + 1)}", flush=True)


def main() -> None:
    times, began = int(sys.argv[1]) if len(sys.argv) > 1 else 500, time.monotonic()
    with ProcessPoolExecutor(2) as pool:
        print(f"True lift / false accepts a run / evaluations / true lift at equal budget; {times} runs each\n")
        head(SETTINGS, "gate")
        known = {}
        for name in GATES:
            known |= {(name, s): measured(pool, name, s, times) for s in SETTINGS}
            print(f"| {name} | {' | '.join(row(s, known[name, s]) for s in SETTINGS)} |", flush=True)
        print("\nCertified: share of runs with any false accept (wanted: at most 0.05)\n")
        settings = [Setting(n, steps, flaky) for n, steps in ((17, 4), (40, 8), (200, 40)) for flaky in (0.1, 0.4)]
        head(settings, "gate")
        name = "certified, alpha 0.05"
        runs = [known.get((name, s)) or measured(pool, name, s, times) for s in settings]
        print(f"| certified | {' | '.join(f'{fmean(r.false > 0 for r in run):.3f}' for run in runs)} |")
        print("\nPools of four edits in k patches a step, race, gamma 0.1: the same columns\n")
        few = [Setting(40, 8, 0.1), Setting(40, 8, 0.4), Setting(200, 20, 0.4)]
        head(few, "k")
        for k in (1, 2, 4):
            print(f"| {k} | {' | '.join(row(s, measured(pool, 'race, gamma 0.1', s, times, k)) for s in few)} |")
    print(f"\n{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
