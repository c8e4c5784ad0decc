"""Which column is what. A given name is taken or refused; a guess is made only where it is plain, and is shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import cast

from skillopt.envs.own.value_scores import whole_number
from skillopt.errors import DataError
from skillopt.types import JSON

_INPUTS = (
    "input", "inputs", "question", "prompt", "query", "instruction", "task", "problem", "message", "ticket",
    "utterance", "text", "sentence", "email", "document", "body", "content",
)  # fmt: skip
_ANSWERS = (
    "answer", "answers", "gold", "gold_answer", "expected", "expected_output", "expected_answer", "ground_truth",
    "target", "output", "label", "labels", "category", "class", "intent", "solution", "completion", "response", "ideal",
)  # fmt: skip
_NAMES = frozenset({"id", "idx", "index", "uid", "split", "task_type"})
_MOST_LABELS = 30
_LONGEST_LABEL = 60


@dataclass(frozen=True, slots=True)
class Fields:
    """The columns in use; `answer` and `label` may be blank. `guessed` names the roles nobody gave."""

    input: tuple[str, ...]
    answer: str = ""
    label: str = ""
    guessed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """The column names that were asked for; blank means "guess"."""

    input: str = ""
    answer: str = ""
    label: str = ""
    answerless: bool = False


def fields_of(rows: Sequence[Mapping[str, JSON]], wanted: Wanted, where: str) -> Fields:
    """Settle the columns, or say what is there and how to name it. All problems are said together."""
    known = tuple(dict.fromkeys(name for row in rows for name in row))
    problems: list[str] = []
    answer = _given(wanted.answer, known, "answer", where, problems) or _guess(_ANSWERS, known)
    label = _given(wanted.label, known, "label", where, problems)
    inputs = _inputs(wanted.input, known, where, problems) or _only(_guess(_INPUTS, [k for k in known if k != answer]))
    rest = [name for name in known if name.lower() not in _NAMES and name not in (answer, label)]
    if not inputs and (len(rest) == 1 or (not answer and len(rest) == 2)):
        inputs = (rest[0],)
    rest = [name for name in rest if name not in inputs]
    if not answer:
        # The column to balance by may well be the answer itself.
        answer = rest[0] if len(rest) == 1 else "" if rest else label
    if not problems:
        open_roles = (("input", inputs), ("answer", answer or wanted.answerless))
        problems += [_unclear(role, known, where) for role, found in open_roles if not found]
    if problems:
        raise DataError(problems)
    guessed = [role for role, name in (("input", wanted.input), ("answer", wanted.answer)) if not name]
    return Fields(inputs, answer, label, tuple(guessed))


def labels_of(answers: Iterable[JSON]) -> tuple[str, ...]:
    """The distinct answers, when they look like labels: few, short, and met again and again; else none."""
    texts = [a.strip() if isinstance(a, str) else a for a in answers]
    if not texts or not all(isinstance(t, (str, bool)) for t in texts):
        return ()
    distinct = dict.fromkeys(str(t) for t in texts)
    few = len(distinct) <= min(_MOST_LABELS, len(texts) // 3) and len(distinct) > 1
    return tuple(sorted(distinct)) if few and all(0 < len(t) <= _LONGEST_LABEL for t in distinct) else ()


def scorer_for(answers: Sequence[JSON]) -> str:
    """The scorer that fits a column of answers."""
    if answers and all(_is_object(answer) for answer in answers):
        return "json_fields"
    if answers and all(whole_number(answer) is not None for answer in answers):
        return "number"
    return "choice" if labels_of(answers) else "exact"


def _given(name: str, known: Sequence[str], role: str, where: str, problems: list[str]) -> str:
    if name and name not in known:
        problems.append(_absent(name, known, role, where))
    return name


def _inputs(name: str, known: Sequence[str], where: str, problems: list[str]) -> tuple[str, ...]:
    """One column, or several with commas between."""
    if not name or name in known:
        return _only(name)
    names = tuple(part.strip() for part in name.split(",") if part.strip())
    problems += [_absent(part, known, "input", where) for part in names if part not in known]
    return names


def _absent(name: str, known: Sequence[str], role: str, where: str) -> str:
    folded = {k.lower(): k for k in known}
    near = get_close_matches(name.lower(), folded, n=1, cutoff=0.5)
    hint = f" Did you mean {folded[near[0]]!r}?" if near else ""
    return f"{where}: there is no column {name!r} (env.{role}, --{role}).{hint} Columns: {', '.join(known)}."


def _unclear(role: str, known: Sequence[str], where: str) -> str:
    extra = " An answer is not needed with --scorer judge or a scorer of your own." if role == "answer" else ""
    columns = f"Columns: {', '.join(known)}."
    return f"{where}: which column is the {role}? Name it with --{role} (env.{role}).{extra} {columns}"


def _guess(names: Sequence[str], known: Sequence[str]) -> str:
    folded = {k.strip().lower().replace(" ", "_"): k for k in reversed(known)}
    return next((folded[name] for name in names if name in folded), "")


def _only(name: str) -> tuple[str, ...]:
    return (name,) if name else ()


def _is_object(value: JSON) -> bool:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except ValueError:
            return False
    return isinstance(value, dict) and bool(cast("dict[str, JSON]", value))
