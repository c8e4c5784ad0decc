"""The functions a benchmark author calls: synchronous, safe in threads, bound to the current run.

`retries` is accepted for older code; how often a call is tried again is the run's own policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillopt.errors import SkillOptError
from skillopt.model.compat import CompatAssistantMessage, Row, choice_of, message_row, messages_of, tools_of, usage_row
from skillopt.model.current import Runtime, current, note
from skillopt.model.types import Completion, Message, Provider, Request
from skillopt.types import JSON, Usage

Reply = tuple[str, dict[str, int]]
MessageReply = tuple["str | CompatAssistantMessage", dict[str, int]]


def chat_target(
    system: str,
    user: str,
    max_completion_tokens: int = 16384,
    retries: int = 5,
    stage: str = "target",
    reasoning_effort: str | None = None,
    timeout: float | None = None,
) -> Reply:
    """Ask the model that holds the skill."""
    run = current()
    return _text(run, run.target, system, user, max_completion_tokens, stage, reasoning_effort, timeout)


def chat_optimizer(
    system: str,
    user: str,
    max_completion_tokens: int = 16384,
    retries: int = 5,
    stage: str = "optimizer",
    reasoning_effort: str | None = None,
    timeout: float | None = None,
) -> Reply:
    """Ask the model that writes edits."""
    run = current()
    return _text(run, run.optimizer, system, user, max_completion_tokens, stage, reasoning_effort, timeout)


def chat_with_deployment(
    deployment: str,
    system: str,
    user: str,
    max_completion_tokens: int = 16384,
    retries: int = 5,
    stage: str = "custom",
    reasoning_effort: str | None = None,
    timeout: float | None = None,
) -> Reply:
    """Ask another model at the optimizer's endpoint, such as a judge."""
    run = current()
    asked = _deployed(run, deployment)
    return _text(run, asked, system, user, max_completion_tokens, stage, reasoning_effort, timeout)


def chat_target_messages(
    messages: Sequence[Row],
    max_completion_tokens: int = 16384,
    retries: int = 5,
    stage: str = "target",
    reasoning_effort: str | None = None,
    *,
    tools: Sequence[Row] | None = None,
    tool_choice: JSON = None,
    return_message: bool = False,
    timeout: float | None = None,
) -> MessageReply:
    """Ask the target with a whole conversation, tools and pictures."""
    run = current()
    request = _request(run, messages_of(messages), max_completion_tokens, stage, reasoning_effort, timeout)
    return _message(run, run.target, _with_tools(request, tools, tool_choice), return_message)


def chat_optimizer_messages(
    messages: Sequence[Row],
    max_completion_tokens: int = 16384,
    retries: int = 5,
    stage: str = "optimizer",
    reasoning_effort: str | None = None,
    *,
    tools: Sequence[Row] | None = None,
    tool_choice: JSON = None,
    return_message: bool = False,
    timeout: float | None = None,
) -> MessageReply:
    """Ask the optimizer with a whole conversation, tools and pictures."""
    run = current()
    request = _request(run, messages_of(messages), max_completion_tokens, stage, reasoning_effort, timeout)
    return _message(run, run.optimizer, _with_tools(request, tools, tool_choice), return_message)


def chat_messages_with_deployment(
    deployment: str,
    messages: Sequence[Row],
    max_completion_tokens: int = 16384,
    retries: int = 5,
    stage: str = "custom",
    reasoning_effort: str | None = None,
    *,
    tools: Sequence[Row] | None = None,
    tool_choice: JSON = None,
    return_message: bool = False,
    timeout: float | None = None,
) -> MessageReply:
    """Ask another model at the optimizer's endpoint with a whole conversation."""
    run = current()
    request = _request(run, messages_of(messages), max_completion_tokens, stage, reasoning_effort, timeout)
    return _message(run, _deployed(run, deployment), _with_tools(request, tools, tool_choice), return_message)


def get_token_summary() -> dict[str, dict[str, int]]:
    """Calls and tokens by stage since the run began or `reset_token_tracker`, and `_total`."""
    run = current()
    rows: dict[str, dict[str, int]] = {}
    total = {"calls": 0, **usage_row(Usage())}
    for stage, usage in run.stages().items():
        before = run.counted_from.get(stage, Usage())
        now = {"calls": usage.calls, **usage_row(usage)}
        then = {"calls": before.calls, **usage_row(before)}
        rows[stage] = {name: now[name] - then[name] for name in now}
        total = {name: total[name] + rows[stage][name] for name in total}
    return rows | {"_total": total}


def reset_token_tracker() -> None:
    """Begin a new count. The run's own accounts are not touched."""
    run = current()
    run.counted_from = run.stages()


def _text(
    run: Runtime,
    provider: Provider,
    system: str,
    user: str,
    max_tokens: int,
    stage: str,
    effort: str | None,
    timeout: float | None,
) -> Reply:
    head = (Message("system", system),) if system else ()
    request = _request(run, (*head, Message("user", user)), max_tokens, stage, effort, timeout)
    completion = _asked(run, provider, request)
    return completion.text, usage_row(completion.usage)


def _message(run: Runtime, provider: Provider, request: Request, return_message: bool) -> MessageReply:
    completion = _asked(run, provider, request)
    answer = message_row(completion) if return_message else completion.text
    return answer, usage_row(completion.usage)


def _asked(run: Runtime, provider: Provider, request: Request) -> Completion:
    completion = run.witnesses.watched(provider is run.target, request, lambda: run.call(provider, request))
    note(completion.usage)
    return completion


def _request(
    run: Runtime,
    messages: tuple[Message, ...],
    max_tokens: int,
    stage: str,
    effort: str | None,
    timeout: float | None,
) -> Request:
    return Request(
        messages,
        stage,
        max_tokens,
        timeout=timeout,
        temperature=run.temperature,
        reasoning_effort=effort or run.reasoning_effort,
    )


def _with_tools(request: Request, tools: Sequence[Row] | None, choice: JSON) -> Request:
    return replace(request, tools=tools_of(tools), tool_choice=choice_of(choice))


def _deployed(run: Runtime, name: str) -> Provider:
    if run.deployment is None:
        raise SkillOptError("this run has no other deployments: its optimizer is not an OpenAI or Azure endpoint")
    return run.deployment(name)
