"""Analysts of failures and of successes are counted apart, so the view must keep them apart."""

from __future__ import annotations

from skillopt.journal.events import Reflected
from skillopt.journal.places import Place
from skillopt.types import Reflection


def test_the_first_success_does_not_replace_the_first_failure() -> None:
    place = Place("e01s01", 0.0, 0.0)
    for source in ("success", "failure"):
        place.add_reflection(Reflected(at="e01s01", index=0, reflection=Reflection(source, ("a",))))
    assert [reflection.source for reflection in place.ordered] == ["failure", "success"]
