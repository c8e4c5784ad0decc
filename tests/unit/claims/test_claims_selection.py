"""The corrected selection score: between luck and modesty, the same every time, and honest on average."""

from __future__ import annotations

from random import Random
from statistics import fmean

import pytest

from skillopt.claims.selection import Measured, corrected, outcome_noise


def node(parent: int | None, outcomes: list[float]) -> Measured:
    return Measured(parent, {str(i): v for i, v in enumerate(outcomes)})


def test_the_luckiest_of_equals_is_shrunk() -> None:
    """Thirty neutral edits of a document of coin tosses: the winner is worth no more than the seed."""
    random = Random(1)
    nodes = [node(None, [float(random.random() < 0.5) for _ in range(40)])]
    best = 0
    for _ in range(30):
        nodes.append(node(best, [float(random.random() < 0.5) for _ in range(40)]))
        if fmean(nodes[-1].outcomes.values()) > fmean(nodes[best].outcomes.values()):
            best = len(nodes) - 1
    found = corrected(nodes, best)
    assert found.naive >= 0.6 and abs(found.value - 0.5) < 0.06 and found.low < 0.5 < found.high
    assert found == corrected(nodes, best)


def test_a_clear_gain_without_noise_is_kept() -> None:
    seed, better = [0.0] * 20 + [1.0] * 20, [1.0] * 40
    found = corrected([node(None, seed), node(0, better), node(1, better)], 1)
    assert found.value == pytest.approx(1.0, abs=0.03)


def test_known_noise_is_used_and_a_lone_seed_works() -> None:
    lone = corrected([node(None, [1.0, 0.0, 1.0])], 0, noise=0.1)
    assert lone.noise == 0.1 and lone.documents == 1 and 0 <= lone.low <= lone.value <= lone.high <= 1


def test_noise_is_found_without_a_second_measurement() -> None:
    random = Random(2)

    def drawn(flaky: bool) -> list[float]:
        return [float(random.random() < 0.5) if flaky else float(i % 2) for i in range(200)]

    for flaky, wanted in ((True, 0.25), (False, 0.0)):
        nodes = [node(None, drawn(flaky)), *(node(0, drawn(flaky)) for _ in range(4))]
        assert outcome_noise(nodes) == pytest.approx(wanted, abs=0.04)


def test_a_race_that_stopped_early_is_placed_by_its_pairs() -> None:
    """The candidate met only the easy half; its score there says nothing of the whole."""
    seed = {str(i): float(i < 20) for i in range(40)}
    half = {str(i): 1.0 for i in range(20)}
    found = corrected([Measured(None, seed), Measured(0, half)], 1)
    assert found.naive == 1.0 and found.value == pytest.approx(0.5, abs=0.05)
