"""Errors, one type per boundary.

Two families. A *bad item* is data: it never raises, it becomes a `Failure` on a rollout. A *bad run* is one of the
exceptions below: it stops the run at once, says what happened, where, and what to do, and leaves a journal from which
the same command continues. The command line prints the message and exits with `exit_code`; nothing else catches them.
"""

from __future__ import annotations

from collections.abc import Sequence


class SkillOptError(Exception):
    """The base of every error that is meant for a person."""

    exit_code = 1


class ConfigError(SkillOptError):
    """One or more things are wrong with the configuration; all of them are reported together."""

    exit_code = 2

    def __init__(self, problems: Sequence[str] | str) -> None:
        self.problems = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(self.problems))


class DataError(SkillOptError):
    """The data set, a split or an item cannot be used."""

    exit_code = 2

    def __init__(self, problems: Sequence[str] | str) -> None:
        self.problems = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(self.problems))


class SkillFileError(SkillOptError):
    """The skill document cannot be read, or its protected regions are broken."""

    exit_code = 2


class JournalError(SkillOptError):
    """The run directory is damaged, locked by another process, or was edited by hand."""

    exit_code = 2


class ResumeRefused(SkillOptError):
    """The run directory holds another experiment; the differing keys are named."""

    exit_code = 2

    def __init__(self, message: str, differing: Sequence[str] = ()) -> None:
        self.differing = tuple(differing)
        super().__init__(message)


class UnknownName(SkillOptError):
    """A plugin name that nothing is registered under."""

    exit_code = 2


class ModelError(SkillOptError):
    """A model call that did not produce an answer.

    `kind` is one of the words in `skillopt.model.types.ErrorKind`. The message never holds a credential.
    """

    exit_code = 3

    def __init__(self, kind: str, message: str, *, retry_after: float | None = None) -> None:
        self.kind = kind
        self.retry_after = retry_after
        super().__init__(message)


class BudgetExhausted(SkillOptError):
    """The next call could break a cap of the `budget` section, so it was not sent. A higher cap continues the run."""

    exit_code = 4


class StageStopped(SkillOptError):
    """Most attempts of a stage failed for one reason, or too many have no result. Starting again continues."""

    exit_code = 3


class PluginError(SkillOptError):
    """A plugin was found but could not be loaded; its own message is kept."""

    exit_code = 2
