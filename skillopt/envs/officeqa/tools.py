"""The three tools of the benchmark. Every answer is short, says when it was cut, and says how to get the rest."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from skillopt.envs.officeqa.corpus import Corpus
from skillopt.envs.officeqa.shelf import Document
from skillopt.model.types import Tool
from skillopt.types import JSON

MOST_PATHS = 50
MOST_LINES = 20
MOST_CHARACTERS = 4000
LINES_READ = 80
_SHOWN_OF_LINE = 240
_COUNTED = 2000
"""A search stops counting here: a pattern that is everywhere needs no exact number."""

_TEXT: JSON = {"type": "string"}
_NUMBER: JSON = {"type": "integer", "minimum": 1}


def _tool(name: str, description: str, required: tuple[str, ...], **properties: JSON) -> Tool:
    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return Tool(name, description, schema)


TOOLS = (
    _tool(
        "glob",
        f"List documents whose name matches a shell pattern, such as *1954*. At most {MOST_PATHS} names.",
        ("pattern",),
        pattern=_TEXT,
    ),
    _tool(
        "read",
        f"Read lines of a document. At most {MOST_CHARACTERS} characters; read on with a larger start.",
        ("path",),
        path=_TEXT,
        start={**_NUMBER, "description": "First line, counted from 1"},
        limit={**_NUMBER, "description": f"Number of lines, {LINES_READ} if not given"},
    ),
    _tool(
        "grep",
        "Find lines that contain a literal text, without regard to case. "
        f"At most {MOST_LINES} lines, as document:line: text.",
        ("pattern",),
        pattern={**_TEXT, "description": "Text to find; no regular expression"},
        path={**_TEXT, "description": "A document or a shell pattern of documents; blank = all"},
    ),
)


class BadArgument(ValueError):
    """What is wrong with a call, in words for the model that made it."""


@dataclass(frozen=True, slots=True)
class CorpusTools:
    """Files are read in threads, so that other attempts go on."""

    corpus: Corpus

    @property
    def tools(self) -> tuple[Tool, ...]:
        return TOOLS

    async def call(self, name: str, arguments: Mapping[str, JSON]) -> str:
        action = _ACTIONS.get(name)
        if action is None:
            return f"error: there is no tool {name!r}; the tools are {', '.join(_ACTIONS)}"
        try:
            await self.corpus.shelf.ready(self.corpus.documents.values())
            return await asyncio.to_thread(action, self.corpus, arguments)
        except BadArgument as error:
            return f"error: {error}"
        except OSError as error:
            return f"error: the document cannot be read: {error.strerror or error}"


def glob(corpus: Corpus, arguments: Mapping[str, JSON]) -> str:
    found = [document.name for document in corpus.matching(_word(arguments, "pattern"))]
    if not found:
        example = next(iter(corpus.documents), "")
        return f"no document matches; there are {len(corpus.documents)}, named like {example}"
    shown = found[:MOST_PATHS]
    rest = len(found) - len(shown)
    note = [f"[{rest} more of {len(found)}; use a narrower pattern to see them]"] if rest else []
    return "\n".join([*shown, *note])


def read(corpus: Corpus, arguments: Mapping[str, JSON]) -> str:
    document = _document(corpus, _word(arguments, "path"))
    start, limit = _count(arguments, "start", 1), _count(arguments, "limit", LINES_READ)
    lines = corpus.shelf.text(document).decode().split("\n")
    if start > len(lines):
        raise BadArgument(f"{document.name} has {len(lines)} lines; start must not be more")
    shown: list[str] = []
    room = MOST_CHARACTERS - len(document.name) - 160
    for line in lines[start - 1 : start - 1 + limit]:
        room -= len(line) + 1
        if room < 0 and shown:
            break
        shown.append(line)
    end = start + len(shown) - 1
    note = "" if end == len(lines) else f"\n[cut here; read on with start={end + 1}]"
    return f"{document.name}, lines {start} to {end} of {len(lines)}\n" + "\n".join(shown) + note


def grep(corpus: Corpus, arguments: Mapping[str, JSON]) -> str:
    pattern, path = _word(arguments, "pattern"), _word(arguments, "path", "")
    needle = pattern.encode("utf-8", "replace").lower()
    documents = _searched(corpus, path)
    shown: list[str] = []
    counts: Counter[str] = Counter()
    for document in documents:
        for number, begin, at in _hits(corpus.shelf.lowered(document), needle):
            counts[document.name] += 1
            if len(shown) < MOST_LINES:
                shown.append(f"{document.name}:{number}: {_around(corpus.shelf.text(document), begin, at)}")
            if counts[document.name] >= _COUNTED:
                break
        if counts.total() >= _COUNTED:
            return _found(shown, counts, more=True)
    if not shown:
        return f"no line contains {pattern[:100]!r} ({len(documents)} documents were searched)"
    return _found(shown, counts, more=False)


_ACTIONS: Mapping[str, Callable[[Corpus, Mapping[str, JSON]], str]] = MappingProxyType(
    {"glob": glob, "read": read, "grep": grep}
)


def _hits(lowered: bytes, needle: bytes) -> Iterator[tuple[int, int, int]]:
    """Line number, where the line begins, and where the text begins, once for each line."""
    number, counted, at = 1, 0, lowered.find(needle)
    while at >= 0:
        begin = lowered.rfind(b"\n", 0, at) + 1
        number += lowered.count(b"\n", counted, begin)
        counted = begin
        yield number, begin, at
        end = lowered.find(b"\n", at)
        at = lowered.find(needle, end) if end >= 0 else -1


def _around(text: bytes, begin: int, at: int) -> str:
    """A line, or the part of a long one that holds the find."""
    end = text.find(b"\n", begin)
    end = len(text) if end < 0 else end
    left = max(begin, at - _SHOWN_OF_LINE // 2)
    right = min(end, left + _SHOWN_OF_LINE)
    piece = text[left:right].decode("utf-8", "ignore").strip()
    return f"{'... ' if left > begin else ''}{piece}{' ...' if right < end else ''}"


def _found(shown: list[str], counts: Counter[str], *, more: bool) -> str:
    total = counts.total()
    while sum(map(len, shown)) > MOST_CHARACTERS - 1000:
        shown = shown[:-1]
    if total == len(shown) and not more:
        return "\n".join(shown)
    listed = ", ".join(f"{name} ({count})" for name, count in counts.most_common(10))
    number = f"more than {total}" if more else str(total)
    files = f" in {len(counts)} documents, most in {listed}" if len(counts) > 1 else ""
    return "\n".join([*shown, f"[{len(shown)} of {number} lines{files[:700]}; search a longer text, or give path]"])


def _searched(corpus: Corpus, path: str) -> Sequence[Document]:
    if not path.strip():
        return tuple(corpus.documents.values())
    found = corpus.matching(path)
    return found or (_document(corpus, path),)


def _document(corpus: Corpus, name: str) -> Document:
    found = corpus.find(name)
    if found is None:
        near = corpus.near(name)
        hint = f"; did you mean {', '.join(near)}?" if near else "; use glob to see the names"
        raise BadArgument(f"there is no document {name[:200]!r}{hint}")
    return found


def _word(arguments: Mapping[str, JSON], name: str, default: str | None = None) -> str:
    value = arguments.get(name)
    if value is None and default is not None:
        return default
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise BadArgument(f"{name} must be a text" + ("; it is missing" if value is None else ""))
    if default is None and not str(value).strip():
        raise BadArgument(f"{name} is empty")
    if len(str(value)) > 400:
        raise BadArgument(f"{name} is longer than 400 characters")
    return str(value)


def _count(arguments: Mapping[str, JSON], name: str, default: int) -> int:
    value = arguments.get(name)
    if value is None or value == "":
        return default
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError
        number = int(float(value))
    except (ValueError, OverflowError):
        raise BadArgument(f"{name} must be a whole number, got {str(value)[:40]!r}") from None
    return max(1, number)
