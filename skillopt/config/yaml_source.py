"""YAML with memory: every value keeps its line and the text it was written as.

Three traps of plain YAML loading are closed here: a key given twice is an error (the last one would win in silence),
`2:1:7` is text and not a number in base sixty, and a date is text.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import yaml

from skillopt.types import JSON

_PLAIN_TAGS = frozenset({"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One `key: value`. `text` is set for scalars; `children` for mappings; `value` always."""

    key: str
    line: int
    value: JSON = field(repr=False)
    text: str | None = field(default=None, repr=False)
    children: tuple[Entry, ...] | None = None


@dataclass(frozen=True, slots=True)
class Document:
    entries: tuple[Entry, ...] = ()
    problems: tuple[str, ...] = ()


def parse(text: str, shown: str) -> Document:
    """Read one YAML document; `shown` is the file's name in messages. Problems are returned, not raised."""
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        if root is None or (isinstance(root, yaml.ScalarNode) and root.tag.endswith(":null")):
            return Document()
        if not isinstance(root, yaml.MappingNode):
            kind = "a list" if isinstance(root, yaml.SequenceNode) else "a single value"
            return Document((), (f"{shown}:1: the file must hold `key: value` lines, but it holds {kind}",))
        return _Reader(loader, shown).document(root)
    except yaml.YAMLError as error:
        return Document((), (_syntax(error, shown),))


def _syntax(error: yaml.YAMLError, shown: str) -> str:
    # The mark's own snippet is left out: the line may hold a credential.
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        where = f"{shown}:{mark.line + 1}" if mark else shown
        what = ", ".join(part for part in (error.context, error.problem) if part)
        return f"{where}: not valid YAML: {what}; check the indentation, colons and quotes around this line"
    return f"{shown}: not valid YAML: it holds a character that YAML does not allow"


class _Reader:
    def __init__(self, loader: yaml.SafeLoader, shown: str) -> None:
        self._loader = loader
        self._shown = shown
        self._problems: list[str] = []
        self._open: set[int] = set()

    def document(self, root: yaml.MappingNode) -> Document:
        entries = self._entries(root, "")
        return Document(entries, tuple(dict.fromkeys(self._problems)))

    def _entries(self, node: yaml.MappingNode, within: str) -> tuple[Entry, ...]:
        self._enter(node)
        self._refuse_repeats(node, within)
        self._loader.flatten_mapping(node)
        found = {e.key: e for e in (self._entry(k, v, within) for k, v in node.value)}
        self._open.discard(id(node))
        return tuple(found.values())

    def _entry(self, key: yaml.Node, value: yaml.Node, within: str) -> Entry:
        name = _name(key)
        line = key.start_mark.line + 1
        if isinstance(value, yaml.MappingNode):
            children = self._entries(value, f"{within}{name}.")
            return Entry(name, line, {c.key: c.value for c in children}, None, children)
        if isinstance(value, yaml.SequenceNode):
            return Entry(name, line, self._list(value, f"{within}{name}."))
        return Entry(name, line, self._scalar(value), str(value.value))

    def _list(self, node: yaml.SequenceNode, within: str) -> list[JSON]:
        self._enter(node)
        rows = [self._entry(yaml.ScalarNode("", "-", item.start_mark), item, within).value for item in node.value]
        self._open.discard(id(node))
        return rows

    def _enter(self, node: yaml.CollectionNode) -> None:
        if id(node) in self._open:
            raise yaml.constructor.ConstructorError(None, None, "a value that contains itself", node.start_mark)
        if node.tag not in _PLAIN_TAGS:
            raise yaml.constructor.ConstructorError(None, None, f"the tag {node.tag} is not allowed", node.start_mark)
        self._open.add(id(node))

    def _scalar(self, node: yaml.Node) -> JSON:
        if ":" in str(node.value) and node.tag.rpartition(":")[2] in ("int", "float"):
            return str(node.value)
        value = self._loader.construct_object(node)
        return value if value is None or isinstance(value, (bool, int, float, str)) else str(node.value)

    def _refuse_repeats(self, node: yaml.MappingNode, within: str) -> None:
        first: dict[str, int] = {}
        for key, _ in node.value:
            name, line = _name(key), key.start_mark.line + 1
            if name in first and name != "<<":
                self._problems.append(
                    f"{self._shown}:{line}: {within}{name}: given twice, first on line {first[name]}; keep one"
                )
            first.setdefault(name, line)


def _name(key: yaml.Node) -> str:
    """A key as it was written: `on:` is the key "on", not the boolean."""
    if not isinstance(key, yaml.ScalarNode):
        raise yaml.constructor.ConstructorError(None, None, "a key must be a single word", key.start_mark)
    return str(key.value)
