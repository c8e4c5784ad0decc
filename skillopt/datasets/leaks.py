"""Answers that can be had without the work: said in the question, given away by a word, or right by habit.

A finding needs both a large effect and a count that chance will not make even once in a thousand audits, so a handful
of items never raises an alarm.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from skillopt.datasets.chance import at_least, drawn_at_least
from skillopt.datasets.findings import Finding, Severity, percent
from skillopt.datasets.roles import Seen, plain, words

_CHANCE = 0.001
_MOST_LABELS = 30
_FEWEST = 20
_PURE = 0.9
_LIFT = 0.3
_COVERS = 0.8
_SHOWN = 5
_WORDS = 3000

Hit = tuple[float, str, str, int, int]
"""How much of the label a word covers, the word, the label, how often both, how often the word."""


def leaks(rows: Sequence[Seen]) -> Iterator[Finding]:
    """All findings of this kind."""
    labelled = has_labels(rows)
    yield from _said_in_question(rows, labelled)
    if labelled:
        yield from _majority(rows)
        yield from _telling_words(rows)
    yield from _options(rows)


def has_labels(rows: Sequence[Seen]) -> bool:
    """Few answers, each for many items: a choice among labels rather than a free answer."""
    answers = Counter(row.answer for row in rows if row.answer)
    total = sum(answers.values())
    return total >= _FEWEST and 1 <= len(answers) <= min(_MOST_LABELS, total // 4)


def _said_in_question(rows: Sequence[Seen], labelled: bool) -> Iterator[Finding]:
    found = [row.place for row in rows if row.answers and _contains(row)]
    asked = sum(bool(row.answers and row.question) for row in rows)
    if found:
        said = " (a label's name in its text may be honest)" if labelled else ""
        yield Finding(
            "note" if labelled else "warning",
            "answer_in_question",
            f"{len(found)} of {asked} questions contain their answer{said}",
            tuple(found),
            "Read them: where copying is enough, reword the question or remove the item.",
        )


def _contains(row: Seen) -> bool:
    question = f" {plain(row.question)} "
    return any(_telling(answer) and f" {answer} " in question for answer in map(plain, row.answers))


def _telling(answer: str) -> bool:
    """Short answers and small numbers stand in many questions by chance."""
    return len(answer) >= 4


def _majority(rows: Sequence[Seen]) -> Iterator[Finding]:
    """What the commonest training answer scores on test, without reading anything."""
    train = Counter(row.answer for row in rows if row.split == "train" and row.answer)
    test = [row.answer for row in rows if row.split == "test" and row.answer]
    if not train or not test:
        return
    top = min(train, key=lambda answer: (-train[answer], answer))
    share = test.count(top) / len(test)
    kinds = len(set(test) | set(train))
    yield Finding(
        "warning" if share >= 0.7 and kinds > 1 else "note",
        "majority_answer",
        f"always answering {top!r} scores {percent(share)} on test ({kinds} labels)",
        todo="Compare results with this number; balance the labels if it is high."
        if kinds > 1
        else "Add other labels.",
    )


def _telling_words(rows: Sequence[Seen]) -> Iterator[Finding]:
    """Words whose presence all but names the label (Fisher's exact test, corrected for the number of words tried)."""
    labels = Counter(row.answer for row in rows if row.answer)
    total = sum(labels.values())
    counts = {label: Counter[str]() for label in sorted(labels)}
    for row in rows:
        if row.answer:
            counts[row.answer].update(_tokens(row.whole))
    often = {token: draws for token, draws in sum(counts.values(), Counter[str]()).items() if draws >= 5}
    hits: list[Hit] = []
    for token, draws in often.items():
        label = max(counts, key=lambda one: counts[one][token])
        hit, base = counts[label][token], labels[label] / total
        if hit / draws < _PURE or hit / draws - base < _LIFT:
            continue
        if drawn_at_least(hit, draws, labels[label], total) * len(often) * len(labels) < _CHANCE:
            hits.append((hit / labels[label], token, label, hit, draws))
    yield from _told(sorted(hits, key=lambda one: (-one[0], one[1])))


def _told(hits: Sequence[Hit]) -> Iterator[Finding]:
    strong = [one for one in hits if one[0] >= _COVERS]
    groups: tuple[tuple[Sequence[Hit], Severity], ...] = ((strong, "warning"), (hits[len(strong) :], "note"))
    for found, severity in groups:
        if not found:
            continue
        some = "; ".join(
            f"{token!r} means {label!r} in {hit} of {draws}" for _, token, label, hit, draws in found[:_SHOWN]
        )
        more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        covers = f", and most items of the label have it (at least {percent(_COVERS)})" if severity == "warning" else ""
        yield Finding(
            severity,
            "telling_word",
            f"a single word gives the label away{covers}: {some}{more}",
            todo="Make sure that it is what the task is about, and no mark left by how the data was made.",
        )


def _tokens(text: str) -> set[str]:
    """Words, and marks such as `#a1` or `[x]` that are no plain words."""
    found = set(words(text)[:_WORDS])
    marks = (raw.strip(".,;:!?\"'()") for raw in text.lower().split()[:_WORDS])
    return found | {mark for mark in marks if mark and not mark.isalnum()}


def _options(rows: Sequence[Seen]) -> Iterator[Finding]:
    """Habits that beat chance on multiple choice without the question."""
    asked = [row for row in rows if row.right >= 0 and len(row.options) > 1]
    if len(asked) < _FEWEST:
        return
    chance = sum(1 / len(row.options) for row in asked) / len(asked)
    for name, pick in _HABITS.items():
        hits = sum(pick(row) == row.right for row in asked)
        if hits >= 1.5 * chance * len(asked) and at_least(hits, len(asked), chance) * len(_HABITS) < _CHANCE:
            yield Finding(
                "warning",
                "guessable_option",
                f"always taking the {name} scores {percent(hits / len(asked))}, where chance gives {percent(chance)}",
                todo=_REMEDY.get(name, "Shuffle the options, or make sure that the benchmark does."),
            )
    yield from _standing(asked)


def _standing(asked: Sequence[Seen]) -> Iterator[Finding]:
    """An option that stands in many items and is right far more often, or far less, than the others."""
    places: defaultdict[str, list[Seen]] = defaultdict(list)
    for row in asked:
        for option in dict.fromkeys(map(plain, row.options)):
            places[option].append(row)
    often = {option: found for option, found in places.items() if option and len(found) >= _FEWEST}
    for option, found in sorted(often.items()):
        hits = sum(plain(row.options[row.right]) == option for row in found)
        chance = sum(1 / len(row.options) for row in found) / len(found)
        more = at_least(hits, len(found), chance)
        less = at_least(len(found) - hits, len(found), 1 - chance)
        if min(more, less) * 2 * len(often) < _CHANCE:
            said = option if len(option) <= 80 else f"{option[:77]}..."
            yield Finding(
                "warning" if more < less else "note",
                "standing_option",
                f"the option {said!r} is right in {hits} of {len(found)} items with it (chance {percent(chance)})",
                todo="A skill can learn this without any insight: report results with and without these items.",
            )


def _extreme(row: Seen, pick: Callable[..., int]) -> int:
    lengths = [len(option) for option in row.options]
    wanted = pick(lengths)
    return lengths.index(wanted) if lengths.count(wanted) == 1 else -1


_HABITS: Mapping[str, Callable[[Seen], int]] = {
    "longest option": lambda row: _extreme(row, max),
    "shortest option": lambda row: _extreme(row, min),
    "first option": lambda row: 0,
    "last option": lambda row: len(row.options) - 1,
}
_LENGTH = "Write the wrong options as long as the right ones, and report this number."
_REMEDY: Mapping[str, str] = {"longest option": _LENGTH, "shortest option": _LENGTH}
