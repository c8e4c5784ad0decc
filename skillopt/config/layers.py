"""One file's settings under their canonical keys, whatever shape the file has.

Because every layer is brought to dotted keys before layers meet, a flat file overrides a structured base, and the
reverse, without a rule of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from skillopt.config.keys import FLAT_NAMES, KEYS
from skillopt.config.names import ALIASES, IGNORED, SECTIONS
from skillopt.config.suggest import did_you_mean, nearest
from skillopt.config.yaml_source import Entry
from skillopt.types import JSON


@dataclass(frozen=True, slots=True)
class Setting:
    """A value as somebody wrote it. `strength` grows from base to child to command line."""

    path: str
    source: str
    strength: int
    value: JSON = field(repr=False)
    text: str | None = field(default=None, repr=False)
    bare: bool = False

    @property
    def blank(self) -> bool:
        return self.value is None or self.value == ""


@dataclass(frozen=True, slots=True)
class Layer:
    settings: Mapping[str, Setting]
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def layer_of(entries: Sequence[Entry], shown: str, strength: int) -> Layer:
    """The settings of one file, without its bases."""
    structured = any(e.key in SECTIONS and e.children is not None for e in entries)
    nested: list[Setting] = []
    flat: list[Setting] = []
    problems: list[str] = []
    for entry in entries:
        where = f"{shown}:{entry.line}"
        if entry.key in SECTIONS and (entry.children is not None or entry.value is None):
            for child in entry.children or ():
                place = f"{shown}:{child.line}"
                nested.append(Setting(f"{entry.key}.{child.key}", place, strength, child.value, child.text))
        elif (path := _top_level(entry, structured)) is None:
            problems.append(f"{where}: {_misplaced(entry)}")
        else:
            bare = entry.key not in FLAT_NAMES
            flat.append(Setting(path, where, strength, entry.value, entry.text, bare))
    layer = settle((*nested, *flat))
    return replace(layer, problems=(*problems, *layer.problems))


def _top_level(entry: Entry, structured: bool) -> str | None:
    """The dotted key that a top-level line means, or None when it means nothing."""
    if entry.key in FLAT_NAMES and entry.children is None:
        return FLAT_NAMES[entry.key]
    if entry.key.partition(".")[0] in SECTIONS and "." in entry.key:
        return entry.key
    if structured or entry.children is not None or entry.key in SECTIONS:
        return None
    return f"env.{entry.key}"


def _misplaced(entry: Entry) -> str:
    if entry.key in SECTIONS:
        return f"{entry.key}: must be a section with `key: value` lines below it"
    if entry.children is not None:
        return f"{entry.key}: unknown section{did_you_mean(entry.key, SECTIONS)}"
    hint = did_you_mean(entry.key, (*FLAT_NAMES, *SECTIONS))
    return f"{entry.key}: unknown key{hint or '; an option of the benchmark belongs under env:'}"


def settle(settings: Sequence[Setting]) -> Layer:
    """Bring one layer to canonical keys: the first setting of a key wins, other spellings fill what is left open."""
    chosen: dict[str, Setting] = {}
    warnings: list[str] = []
    for s in settings:
        if s.path in chosen:
            winner = chosen[s.path].source
            warnings.append(f"{s.source}: {s.path}: given twice in one file; the section's own line ({winner}) counts")
        else:
            chosen[s.path] = s
    for alias, path in ALIASES:
        if (s := chosen.pop(alias, None)) and (path not in chosen or chosen[path].blank):
            chosen[path] = replace(s, path=path)
    for path, reason in IGNORED.items():
        if (s := chosen.pop(path, None)) and not s.blank:
            warnings.append(f"{s.source}: {path}: has no effect: {reason}")
    strangers = [s for path, s in chosen.items() if not is_known(path)]
    known = {path: s for path, s in chosen.items() if is_known(path)}
    return Layer(known, tuple(f"{s.source}: {unknown(s.path)}" for s in strangers), tuple(warnings))


def is_known(path: str) -> bool:
    """Whether a key can be right. Any `env` key can: whether the benchmark has it is asked later."""
    return path in KEYS or (path.startswith("env.") and path != "env.options")


def unknown(path: str) -> str:
    """The message for a key that does not exist, pointing at the key that was probably meant."""
    section, _, name = path.partition(".")
    if section not in SECTIONS:
        return f"{path}: unknown key{did_you_mean(path, (*KEYS, *FLAT_NAMES))}"
    elsewhere = FLAT_NAMES.get(name)
    if elsewhere is None:
        near = nearest(name, (k.partition(".")[2] for k in KEYS if k.startswith(f"{section}.")))
        elsewhere = f"{section}.{near}" if near else nearest(path, KEYS)
    return f"{path}: unknown key" + (f"; did you mean {elsewhere}?" if elsewhere and elsewhere != path else "")


def merged(base: Mapping[str, Setting], child: Mapping[str, Setting]) -> dict[str, Setting]:
    """The child wins, key by key; options that are mappings are merged, not replaced."""
    result = dict(base)
    for path, s in child.items():
        old = base.get(path)
        if old is not None and isinstance(old.value, Mapping) and isinstance(s.value, Mapping):
            result[path] = replace(s, value=_deep(old.value, s.value))
        else:
            result[path] = s
    return result


def _deep(base: JSON, child: JSON) -> JSON:
    if isinstance(base, Mapping) and isinstance(child, Mapping):
        old, new = cast("Mapping[str, JSON]", base), cast("Mapping[str, JSON]", child)
        return {**old, **{k: _deep(old.get(k), v) for k, v in new.items()}}
    return child
