"""Old journals stay readable: one function for each version left behind, applied to the raw line before it is typed.

A change that only adds a field with a default needs no migration. A newer journal is refused, never guessed at.
"""

from __future__ import annotations

from collections.abc import Callable

from skillopt.errors import JournalError
from skillopt.journal.events import VERSION
from skillopt.types import JSON

Raw = dict[str, JSON]
Step = Callable[[Raw], Raw]


class Migrations:
    """The steps up to `version`, entered by decorating the function that leaves a version behind."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._steps: dict[int, Step] = {}

    def leaving(self, version: int) -> Callable[[Step], Step]:
        """Register how a raw event of `version` becomes one of the next version."""

        def enter(step: Step) -> Step:
            self._steps[version] = step
            return step

        return enter

    def upgrade(self, raw: Raw) -> Raw:
        """The raw event in today's form."""
        found = raw.get("v")
        if not isinstance(found, int) or found < 1:
            raise JournalError(f"An event names the journal version {found!r}, which never existed.")
        if found > self._version:
            raise JournalError(
                f"This journal was written by a newer skillopt (journal version {found}, this one reads up to"
                f" {self._version}). Upgrade skillopt to continue or view this run."
            )
        for version in range(found, self._version):
            raw = self._steps[version](raw) | {"v": version + 1}
        return raw


MIGRATIONS = Migrations(VERSION)
