"""The Copilot program with a model of one's own (Chat Completions). The skill stands in `AGENTS.md`, which it loads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from skillopt.agents.cli.base import PLACEHOLDER, Order, Packaged, SkillFile
from skillopt.agents.cli.story import Story, shown
from skillopt.model.endpoint import Endpoint
from skillopt.model.settings import Settings
from skillopt.types import JSON


@dataclass(frozen=True, slots=True)
class Copilot:
    name: ClassVar[str] = "copilot_exec"
    command_name: ClassVar[str] = "copilot"
    packaged: ClassVar[Packaged | None] = None
    advice: ClassVar[str] = "npm install -g @github/copilot"

    path: str = ""

    @classmethod
    def of(cls, settings: Settings) -> Copilot:
        return cls(settings.find("copilot_exec", "path").value)

    def routes(self, endpoint: Endpoint) -> Mapping[str, str]:
        return {"/chat/completions": endpoint.url}

    def key_header(self, endpoint: Endpoint) -> str:
        return "Authorization"

    def mention(self, skill: str) -> str:
        return ""

    def skill_file(self, skill: SkillFile) -> tuple[str, str]:
        return "AGENTS.md", skill.body

    def environment(self, order: Order) -> Mapping[str, str]:
        return {
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_PROVIDER_BASE_URL": f"{order.address}/v1",
            "COPILOT_PROVIDER_API_KEY": PLACEHOLDER,
            "COPILOT_MODEL": order.model,
        }

    def command(self, program: str, order: Order) -> tuple[str, ...]:
        words = [program, "--output-format", "json", "--no-color", "--log-level", "none", "--disable-builtin-mcps"]
        # The box is the fence: within it every tool may do what it likes, and nobody is there to be asked.
        words += ["--allow-all-tools", "--allow-all-paths"]
        for picture in order.pictures:
            words += ["--attachment", f"{order.work}/attachments/{picture.name}"]
        return tuple(words)

    def stdin(self, order: Order) -> bytes:
        return order.prompt.encode()

    def hear(self, row: Mapping[str, JSON], story: Story) -> None:
        kind, data = row.get("type"), row.get("data") or {}
        if kind == "assistant.message":
            story.said(str(data.get("content") or ""))
        elif kind == "tool.execution_start":
            arguments = data.get("arguments") or {}
            said = arguments.get("command") if isinstance(arguments, dict) else None
            story.did(str(said) if said else f"{data.get('toolName')} {shown(arguments)}")
        elif kind == "tool.execution_complete":
            result = data.get("result") or data.get("error") or {}
            story.saw(shown(result.get("content") or result.get("message") or "") if isinstance(result, dict) else "")
        elif kind == "session.error":
            story.error = str(data.get("message") or "an error without a message")
