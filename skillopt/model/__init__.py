"""Models: one interface, one retry policy, one limiter, one budget. Here are the functions for benchmark authors.

Providers and their SDKs are loaded when a run starts, not from here.
"""

from skillopt.model.compat import CompatAssistantMessage, CompatToolCall, CompatToolFunction
from skillopt.model.talk import (
    chat_messages_with_deployment,
    chat_optimizer,
    chat_optimizer_messages,
    chat_target,
    chat_target_messages,
    chat_with_deployment,
    get_token_summary,
    reset_token_tracker,
)

__all__ = [
    "CompatAssistantMessage",
    "CompatToolCall",
    "CompatToolFunction",
    "chat_messages_with_deployment",
    "chat_optimizer",
    "chat_optimizer_messages",
    "chat_target",
    "chat_target_messages",
    "chat_with_deployment",
    "get_token_summary",
    "reset_token_tracker",
]
