"""What an agent program is to us: a command line, an environment, a place for the skill, and a stream of JSON rows.

Everything else (workspace, box, network, time limit) is the same for all of them and lives in the other modules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from skillopt.agents.cli.story import Story
from skillopt.model.endpoint import Endpoint
from skillopt.model.settings import Settings
from skillopt.types import JSON

PLACEHOLDER = "sk-held-outside"
"""What a program takes for its key. The real one is added outside, where nothing of a task runs."""
SKILL_NAME = "skillopt-target"
SKILL_DESCRIPTION = "How to carry out the tasks of this workspace. Read it before you begin, and follow it."


@dataclass(frozen=True, slots=True)
class Order:
    """One task as a program is given it. Paths are those that the program sees."""

    prompt: str
    model: str
    work: str
    home: str
    address: str
    """Where the program finds its model: scheme, host and port."""
    pictures: tuple[Path, ...] = ()
    """The copies in the workspace, where we see them."""
    schema: str = ""


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A skill as agents keep it: `package` with front matter, `body` without."""

    name: str
    package: str
    body: str


@dataclass(frozen=True, slots=True)
class Packaged:
    """A program that the package index brings: a file within an installed Python package."""

    module: str
    file: str


class Cli(Protocol):
    """One program. Instances hold the settings of a run."""

    name: ClassVar[str]
    """The backend's name."""
    command_name: ClassVar[str]
    packaged: ClassVar[Packaged | None]
    advice: ClassVar[str]
    """How to install it."""

    @classmethod
    def of(cls, settings: Settings) -> Cli: ...

    @property
    def path(self) -> str:
        """The program that the configuration names; "" is none."""
        ...

    def routes(self, endpoint: Endpoint) -> Mapping[str, str]:
        """The addresses it may reach, by how the path it asks for ends."""
        ...

    def key_header(self, endpoint: Endpoint) -> str:
        """The header in which the model's key goes out."""
        ...

    def mention(self, skill: str) -> str:
        """What in a prompt makes the program load the skill of that name; "" where it does so anyway."""
        ...

    def skill_file(self, skill: SkillFile) -> tuple[str, str]:
        """Where in the workspace the program looks for a skill, and what is written there."""
        ...

    def environment(self, order: Order) -> Mapping[str, str]: ...

    def command(self, program: str, order: Order) -> tuple[str, ...]: ...

    def stdin(self, order: Order) -> bytes: ...

    def hear(self, row: Mapping[str, JSON], story: Story) -> None:
        """One event of its stream."""
        ...
