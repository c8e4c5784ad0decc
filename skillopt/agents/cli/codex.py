"""Codex. A skill lies in `.agents/skills`; naming it with a dollar sign makes Codex put its text before the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import ClassVar

from skillopt.agents.cli.base import PLACEHOLDER, Order, Packaged, SkillFile
from skillopt.agents.cli.story import Story, shown
from skillopt.errors import ConfigError
from skillopt.model.endpoint import Endpoint
from skillopt.model.settings import Found, Settings, truth
from skillopt.types import JSON

_KEY = "SKILLOPT_MODEL_KEY"
_QUIET = ("plugins", "apps", "multi_agent", "goals", "image_generation")
"""Features that reach out to the vendor's servers at every start, or have no place in a task that runs alone."""


@dataclass(frozen=True, slots=True)
class Codex:
    name: ClassVar[str] = "codex_exec"
    command_name: ClassVar[str] = "codex"
    packaged: ClassVar[Packaged | None] = Packaged("codex_cli_bin", "bin/codex")
    advice: ClassVar[str] = 'pip install "skillopt[agents]" or npm install -g @openai/codex'

    path: str = ""
    sandbox: str = "workspace-write"
    approval: str = "never"
    effort: str = ""
    network: bool = False
    web_search: bool = False

    @classmethod
    def of(cls, settings: Settings) -> Codex:
        def value(key: str) -> Found:
            return settings.find("codex_exec", key)

        if profile := value("profile"):
            raise ConfigError(
                f"{profile.source}: a profile of Codex lies in its owner's home, which a task must not see. "
                "Give what it holds as model.codex_exec_* and model.target"
            )
        return cls(
            path=value("path").value or settings.variable(("CODEX_CLI_BIN", "CODEX_PATH")).value,
            sandbox=value("sandbox").value or "workspace-write",
            approval=value("approval_policy").value or "never",
            effort=value("reasoning_effort").value,
            network=truth(value("network_access")) or False,
            web_search=truth(value("web_search")) or False,
        )

    def routes(self, endpoint: Endpoint) -> Mapping[str, str]:
        return {"/responses": endpoint.responses_url}

    def key_header(self, endpoint: Endpoint) -> str:
        return "api-key" if endpoint.auth == "azure_key" else "Authorization"

    def mention(self, skill: str) -> str:
        return f"Follow the skill ${skill}."

    def skill_file(self, skill: SkillFile) -> tuple[str, str]:
        return f".agents/skills/{skill.name}/SKILL.md", skill.package

    def environment(self, order: Order) -> Mapping[str, str]:
        return {"CODEX_HOME": order.home, _KEY: PLACEHOLDER}

    def command(self, program: str, order: Order) -> tuple[str, ...]:
        provider = {"name": '"model"', "base_url": f'"{order.address}/v1"', "env_key": f'"{_KEY}"'}
        provider |= {"wire_api": '"responses"', "request_max_retries": "0", "stream_max_retries": "0"}
        inline = ",".join(f"{name}={value}" for name, value in provider.items())
        settings = {
            "model_provider": '"relay"',
            "model_providers.relay": f"{{{inline}}}",
            "approval_policy": f'"{self.approval}"',
            "sandbox_workspace_write.network_access": str(self.network).lower(),
            "web_search": '"live"' if self.web_search else '"disabled"',
            "analytics.enabled": "false",
            "check_for_update_on_startup": "false",
        }
        if self.effort:
            settings["model_reasoning_effort"] = f'"{self.effort}"'
        words = [program, "exec", "--json", "--ephemeral", "--skip-git-repo-check", "--color", "never"]
        words += ["--ignore-user-config", "--sandbox", self.sandbox, "-C", order.work, "-m", order.model]
        words += [word for name in _QUIET for word in ("--disable", name)]
        words += [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        words += ["--output-schema", order.schema] if order.schema else []
        for picture in order.pictures:
            words += ["-i", str(PurePosixPath(order.work) / "attachments" / picture.name)]
        return (*words, "-")

    def stdin(self, order: Order) -> bytes:
        return order.prompt.encode()

    def hear(self, row: Mapping[str, JSON], story: Story) -> None:
        kind = row.get("type")
        if kind == "item.completed":
            self._item(row["item"], story)
        elif kind == "turn.failed":
            story.error = str((row.get("error") or {}).get("message") or "the turn failed")
        elif kind == "error":
            story.error = str(row.get("message") or "an error without a message")

    def _item(self, item: Mapping[str, JSON], story: Story) -> None:
        kind = item.get("type")
        if kind == "agent_message":
            story.said(str(item.get("text") or ""))
        elif kind == "command_execution":
            story.did(str(item.get("command") or ""))
            story.saw(f"{item.get('aggregated_output') or ''}\n[exit code {item.get('exit_code')}]".strip())
        elif kind == "file_change":
            changes = item.get("changes") or []
            story.did("edit " + ", ".join(f"{c.get('path')} ({c.get('kind')})" for c in changes))
        elif kind in ("mcp_tool_call", "web_search"):
            story.did(f"{kind} {shown({k: v for k, v in item.items() if k not in ('id', 'type', 'status', 'result')})}")
            if item.get("result"):
                story.saw(shown(item["result"]))
