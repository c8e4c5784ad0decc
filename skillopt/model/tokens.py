"""How many tokens a prompt has, without a tokenizer: an estimate for pacing, and a bound for money.

A token of every byte-level tokenizer is at least one byte, so the number of bytes is a bound that holds for all.
"""

from __future__ import annotations

from skillopt.model.types import Image, Request
from skillopt.types import canonical

MESSAGE_TOKENS = 8
"""Roles and separators of one message, at most."""
IMAGE_TOKENS = 8192
"""No provider we know bills more for one picture."""
CHARS_PER_TOKEN = 4


def estimate(request: Request) -> int:
    """About as many tokens as the prompt has."""
    return _size(request, bytes_per_token=CHARS_PER_TOKEN, image=1000)


def bound(request: Request) -> int:
    """At least as many tokens as the prompt has."""
    return _size(request, bytes_per_token=1, image=IMAGE_TOKENS)


def _size(request: Request, *, bytes_per_token: int, image: int) -> int:
    texts = [part.text for m in request.messages for part in m.parts if not isinstance(part, Image)]
    texts += [call.name + call.arguments for m in request.messages for call in m.tool_calls]
    texts += [tool.name + tool.description + canonical(tool.parameters) for tool in request.tools]
    texts += [canonical(request.json_schema)] if request.json_schema else []
    images = sum(isinstance(part, Image) for m in request.messages for part in m.parts)
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    overhead = MESSAGE_TOKENS * (len(request.messages) + len(request.tools) + 1)
    return -(-size // bytes_per_token) + images * image + overhead
