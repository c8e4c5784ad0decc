"""Claude Code. The skill stands in `CLAUDE.md`, which the program puts before the model as it is.

Not in `.claude/skills`: there it would be a template, in which `$1` and !`command` are replaced, and a skill about sums
or prices would reach the model in other words than those under training.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from skillopt.agents.cli.base import PLACEHOLDER, Order, Packaged, SkillFile
from skillopt.agents.cli.story import Story, shown
from skillopt.agents.pictures import image_kind
from skillopt.model.endpoint import Endpoint
from skillopt.model.programs import claude_token
from skillopt.model.settings import Settings
from skillopt.types import JSON

_TOOLS = "Bash,Read,Edit,Write"
_EFFORTS = {"": "", "none": "", "off": "", "minimal": "low", "xhigh": "max"}


@dataclass(frozen=True, slots=True)
class ClaudeCode:
    name: ClassVar[str] = "claude_code_exec"
    command_name: ClassVar[str] = "claude"
    packaged: ClassVar[Packaged | None] = Packaged("claude_agent_sdk", "_bundled/claude")
    advice: ClassVar[str] = 'pip install "skillopt[agents]" or npm install -g @anthropic-ai/claude-code'

    path: str = ""
    effort: str = "medium"
    thinking: int = 16384
    profile: str = ""
    token: str = ""
    """The variable whose token is used in place of a key."""

    @classmethod
    def of(cls, settings: Settings) -> ClaudeCode:
        path = settings.find("claude_code_exec", "path", default="claude").value
        effort = settings.find("claude_code_exec", "effort", default="medium").value
        thinking = settings.find("claude_code_exec", "max_thinking_tokens", default="16384").value
        return cls(
            path="" if path == "claude" else path,
            effort=_EFFORTS.get(effort, effort),
            thinking=int(thinking or 0),
            profile=settings.find("claude_code_exec", "profile").value,
            token=claude_token(settings).source,
        )

    def routes(self, endpoint: Endpoint) -> Mapping[str, str]:
        url = f"{endpoint.base_url}/v1/messages"
        return {"/v1/messages": url, "/v1/messages/count_tokens": f"{url}/count_tokens"}

    def key_header(self, endpoint: Endpoint) -> str:
        return "Authorization" if self.token else "x-api-key"

    def mention(self, skill: str) -> str:
        return ""

    def skill_file(self, skill: SkillFile) -> tuple[str, str]:
        return "CLAUDE.md", skill.body

    def environment(self, order: Order) -> Mapping[str, str]:
        return {
            "ANTHROPIC_BASE_URL": order.address,
            self.token or "ANTHROPIC_API_KEY": PLACEHOLDER,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
            "DISABLE_AUTOUPDATER": "1",
            "MAX_THINKING_TOKENS": str(self.thinking),
        }

    def command(self, program: str, order: Order) -> tuple[str, ...]:
        words = [program, "-p", "--output-format", "stream-json", "--verbose", "--no-session-persistence"]
        # The box is the fence: within it every tool may do what it likes, and nobody is there to be asked.
        words += ["--permission-mode", "bypassPermissions", "--tools", _TOOLS, "--strict-mcp-config"]
        words += ["--input-format", "stream-json"] if order.pictures else []
        words += ["--model", order.model] if order.model else []
        words += ["--effort", self.effort] if self.effort else []
        words += ["--append-system-prompt", f"Profile: {self.profile}"] if self.profile else []
        return tuple(words)

    def stdin(self, order: Order) -> bytes:
        if not order.pictures:
            return order.prompt.encode()
        content: list[JSON] = [{"type": "text", "text": order.prompt}]
        for picture in order.pictures:
            data = picture.read_bytes()
            source = {"type": "base64", "media_type": image_kind(data), "data": base64.b64encode(data).decode()}
            content.append({"type": "image", "source": source})
        row = {"type": "user", "message": {"role": "user", "content": content}}
        return json.dumps(row).encode() + b"\n"

    def hear(self, row: Mapping[str, JSON], story: Story) -> None:
        kind = row.get("type")
        if kind == "result":
            story.cost_usd = row.get("total_cost_usd")
            if row.get("is_error"):
                story.error = str(row.get("result") or row.get("errors") or row.get("subtype") or "no reason given")
            else:
                story.answer = str(row.get("result") or "")
        elif kind in ("assistant", "user"):
            content = (row.get("message") or {}).get("content")
            for block in content if isinstance(content, list) else ():
                self._block(block, story)

    def _block(self, block: Mapping[str, JSON], story: Story) -> None:
        kind = block.get("type")
        if kind == "text":
            story.said(str(block.get("text") or ""))
        elif kind == "tool_use":
            arguments = block.get("input") or {}
            said = arguments.get("command") if block.get("name") == "Bash" else None
            story.did(str(said) if said else f"{block.get('name')} {shown(arguments)}")
        elif kind == "tool_result":
            content = block.get("content") or ""
            parts = [{"text": content}] if isinstance(content, str) else content
            story.saw("\n".join(str(part.get("text") or f"[{part.get('type')}]") for part in parts))
