"""Two of the three ways to a script: a dialogue in which each script is run, and tools in a folder of their own.

The third, a single reply, needs nothing of this. Whatever the way, the attempt's answer is the last script.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from skillopt.agents.base import Agent, Task
from skillopt.agents.chat import CUT_OFF, opening
from skillopt.envs.spreadsheetbench.box import Produced
from skillopt.envs.spreadsheetbench.cases import Case
from skillopt.envs.spreadsheetbench.compare import NO_VALUE
from skillopt.envs.spreadsheetbench.golds import Gold
from skillopt.envs.spreadsheetbench.script import script_in
from skillopt.envs.spreadsheetbench.workshop import Wanted, Workshop
from skillopt.model.types import Message
from skillopt.types import Attempt, Turn, Usage

Trial = Callable[[str], Awaitable[str]]
"""Runs a script; "" when nothing is left to mend, else what to tell the target."""

_DONE = "The script ran and saved a workbook."
_NO_SCRIPT = "There is no script in your reply. Send the whole script in one block that begins with ```python."


async def dialogue(task: Task, agent: Agent, turns: int, trial: Trial) -> Attempt:
    """Replies until one runs cleanly; the last script counts, whatever became of it."""
    messages = (Message("system", task.system), Message("user", task.user))
    story, usage, taken = [*opening(task)], Usage(), 0
    while True:
        reply = await agent.chat(messages, max_tokens=task.max_tokens, timeout=task.timeout)
        usage, taken = usage + reply.usage, taken + 1
        story.append(Turn("assistant", reply.text))
        if reply.finish == "length":
            story.append(CUT_OFF)
        script = script_in(reply.text)
        said = await trial(script) if script else _NO_SCRIPT
        if not said:
            return Attempt(reply.text, (*story, Turn("tool", _DONE)), usage, turns=taken)
        story.append(Turn("tool", said))
        if taken == turns:
            return Attempt(reply.text, tuple(story), usage, turns=taken)
        messages = (*messages, Message("assistant", reply.text or "(nothing)"), Message("user", said))


def on_first_case(workshop: Workshop, wanted: Wanted) -> Trial:
    """Tries scripts on the case that the target was shown."""
    case, feedback = wanted.cases[0], workshop.options.eval_feedback

    async def trial(script: str) -> str:
        made, gold = await workshop.tried(script, wanted, case, computing=feedback)
        if made.cells is None:
            return _failed(made)
        if made.cells.formulas and workshop.office is None:
            places = ", ".join(map(str, sorted(made.cells.formulas)[:10]))
            return f"The script ran, but cells of the answer hold formulas that nobody computes ({NO_VALUE}): {places}"
        return _cells_told(workshop, case, made, gold) if feedback else ""

    return trial


def _failed(made: Produced) -> str:
    printed = f"\n\nIt printed:\n{made.printed.strip()}" if made.printed.strip() else ""
    said = made.problem[:1].upper() + made.problem[1:]
    return f"{said}{printed}\n\nMend it and send the whole script again."


def _cells_told(workshop: Workshop, case: Case, made: Produced, gold: Gold) -> str:
    """Which cells are wrong and what they hold; what they should hold stays hidden."""
    verdict = workshop.verdict(case, made, gold)
    if verdict.passed or gold.problem:
        return ""
    return f"The script ran, but its result is not right: {verdict.reason}.\n{verdict.cells(expected=False)}"
