"""How a conversation is laid out for a local model, cut where the shared beginning ends.

`document`: plain text that the model continues, for models too small to follow a chat; the skill, then `Input:` and
`Output:`. `chat`: the model's own template, with the skill's worked examples replayed as turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.model.types import Message
from skillopt.skill.examples import Example, parted, render
from skillopt.types import JSON

DOCUMENT_STOPS = ("\nInput:", "\n\n")


@dataclass(frozen=True, slots=True)
class Prompt:
    """`prefix` is what requests with the same skill share; `lead` is what an answer begins with."""

    prefix: str
    suffix: str
    stops: tuple[str, ...] = ()
    lead: str = ""


def document(messages: Sequence[Message]) -> Prompt:
    """The system text as it stands, earlier turns as examples, and the last message as the open one."""
    system = "\n\n".join(m.text.strip() for m in messages if m.role == "system" and m.text.strip())
    rest = [m for m in messages if m.role != "system"]
    turns = [render(Example(a.text, b.text)) for a, b in zip(rest[:-1:2], rest[1:-1:2], strict=False)]
    asked = rest[-1].text.strip() if rest else ""
    head = f"{system}\n\n" if system else ""
    return Prompt(head, "\n\n".join((*turns, f"Input: {asked}\nOutput:")), DOCUMENT_STOPS, " ")


def turns(messages: Sequence[Message]) -> tuple[dict[str, JSON], ...]:
    """Chat messages in which the worked examples of the system text have become turns."""
    rows: list[dict[str, JSON]] = []
    for message in messages:
        if message.role != "system":
            rows.append({"role": message.role, "content": message.text})
            continue
        skill = parted(message.text)
        if skill.rest:
            rows.append({"role": "system", "content": skill.rest})
        for example in skill.examples:
            rows.append({"role": "user", "content": example.input})
            rows.append({"role": "assistant", "content": example.output})
    return tuple(rows)


def cut(text: str, messages: Sequence[Message]) -> Prompt:
    """A rendered chat, cut before its last message."""
    at = text.rfind(messages[-1].text.strip()) if messages else -1
    return Prompt(text[:at], text[at:]) if at > 0 else Prompt("", text)
