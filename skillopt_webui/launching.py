"""From the form to the ordinary command: the same loader, the same messages, the same quote.

What a request may name is looked up or checked here: configurations come from an index, paths must lie below the
folders that the dashboard was started for, and no credential is ever taken from a form.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skillopt import app
from skillopt.cli.own import QUICKSTART, Mine
from skillopt.config.keys import KEYS
from skillopt.config.load import Loaded, Override
from skillopt.config.schema import is_secret
from skillopt.datasets.checks import safe_name
from skillopt.errors import ConfigError, DataError, SkillOptError
from skillopt.journal.files import write_atomic
from skillopt.journal.runs import new_directory
from skillopt.keyless import settled
from skillopt.model.quote import Quote
from skillopt.progress.quote import quote_line
from skillopt.quoting import quote_training
from skillopt.types import JSON

SOURCE = "this form"
UPLOADS = "uploads"
OWN = ("own_skill", "data", "input", "answer", "label", "scorer", "rubric")
OWN_HELP = {
    "own_skill": "Your skill document, as SKILL.md",
    "data": "Your examples: .csv, .jsonl or .json",
    "input": "Column with the input; several with commas (blank = guessed)",
    "answer": "Column with the expected answer (blank = guessed)",
    "label": "Column by which the splits are balanced",
    "scorer": "exact, contains, choice, number, f1, anls, json_fields, regex or judge (blank = guessed)",
    "rubric": "What the scorer judge looks for",
}
_SUFFIXES = frozenset({".md", ".txt", ".csv", ".tsv", ".jsonl", ".json"})
_CAPS = ("max_cost_usd", "max_tokens", "max_calls")
_KEY = re.compile(r"(?:^|: )((?:model|train|gradient|optimizer|evaluation|env|budget)\.\w+)")


@dataclass(frozen=True, slots=True)
class Wish:
    """What the reader filled in: a configuration by its name here, own files, and the settings that were changed."""

    config: str = ""
    own: Mapping[str, str] = field(default_factory=dict[str, str])
    changes: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Check:
    """What the command line would say: problems by setting where one is named, warnings, and the quote."""

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    quote: Quote | None = None

    def to_dict(self) -> dict[str, JSON]:
        return {
            "problems": [{"key": key_in(p), "text": p} for p in self.problems],
            "warnings": list(self.warnings),
            "quote": quote_line(self.quote).removeprefix("quote: ") if self.quote else "",
            "lines": _lines(self.quote) if self.quote else [],
        }


class Launcher:
    """`roots` are the folders that a path in the form may lie in."""

    def __init__(self, here: Path, runs: Path, roots: tuple[Path, ...] = ()) -> None:
        self.here = here.resolve()
        self.runs = runs.resolve()
        self.roots = (self.here, self.runs, *(root.resolve() for root in roots))

    def configs(self) -> dict[str, Path]:
        """Configurations that can be chosen, by the name they have in the form."""
        found = {
            p.relative_to(self.here).as_posix(): p
            for p in sorted(self.here.glob("configs/*/*.yaml"))
            if p.parent.name not in ("_base_", "features")
        }
        mine = self.here / "skillopt.yaml"
        first = {"skillopt.yaml": mine} if mine.is_file() else {}
        return first | found | {"quickstart (on this machine)": QUICKSTART}

    def load(self, wish: Wish, environ: Mapping[str, str]) -> Loaded:
        """The checked configuration, as `skillopt train` would load it."""
        if problems := self.refused(wish):
            raise ConfigError(problems)
        mine, path = _mine(wish), self._path(wish)
        overrides = (*(Override(k, _given(k, v), SOURCE) for k, v in wish.changes.items()), *mine.overrides())
        given = (*overrides, *(mine.fitting(overrides) if path is None else ()))
        return settled(app.load(path, given), environ, lambda more: app.load(path, (*given, *more)))

    def check(self, wish: Wish, environ: Mapping[str, str]) -> Check:
        """Load, look at the data, and quote. Nothing is called and nothing is written."""
        try:
            loaded = self.load(wish, environ)
        except SkillOptError as error:
            return Check(_problems(error))
        try:
            return Check((), loaded.warnings, quote_training(loaded, environ))
        except SkillOptError as error:
            return Check(_problems(error), loaded.warnings)
        except OSError as error:
            return Check((f"{error.filename or 'a file'} cannot be read: {error.strerror}",), loaded.warnings)

    def command(self, wish: Wish, loaded: Loaded) -> tuple[Path, list[str]]:
        """The run directory and the arguments of the ordinary command."""
        directory = new_directory(self.runs / safe_name(loaded.config.env.name or "run"))
        path = self._path(wish)
        arguments = ["train", "--plain", *(("--config", str(path)) if path else ())]
        for name, value in _mine(wish).values.items():
            arguments += ["--skill" if name == "own_skill" else f"--{name}", str(value)]
        for key, value in wish.changes.items():
            arguments += ["--cfg-options", f"{key}={_given(key, value)}"]
        return directory, [*arguments, "--out_root", str(directory)]

    def resume(self, directory: Path, caps: Mapping[str, str]) -> list[str]:
        """The arguments that continue a run from its own resolved configuration."""
        config = directory / "config.yaml"
        if not config.is_file():
            raise ConfigError(f"{directory.name} has no config.yaml yet; start it again from the launch page.")
        arguments = ["train", "--plain", "--config", str(config)]
        for name in _CAPS:
            if value := caps.get(name, "").strip():
                float(value)
                arguments += ["--cfg-options", f"budget.{name}={value}"]
        return [*arguments, "--out_root", str(directory)]

    def refused(self, wish: Wish) -> tuple[str, ...]:
        """What a form may not ask for, whatever the schema says."""
        found = [
            f"{SOURCE}: {k}: a credential; set it in the environment instead" for k in wish.changes if is_secret(k)
        ]
        found += [
            f"{SOURCE}: {k}: the dashboard chooses the folder"
            for k in wish.changes
            if k in ("env.out_root", "out_root")
        ]
        if wish.config and wish.config not in self.configs():
            found.append(f"{SOURCE}: config: there is no configuration {wish.config!r} here")
        values = {**wish.changes, **{k: v for k, v in wish.own.items() if k in OWN}}
        found += [
            f"{SOURCE}: {k}: {v} lies outside {self._shown_roots()}" for k, v in values.items() if not self._allowed(v)
        ]
        return tuple(found)

    def keep_file(self, name: str, data: bytes) -> Path:
        """Store an uploaded file under the digest of its content; the name is made safe first."""
        suffix = Path(name).suffix.lower()
        if suffix not in _SUFFIXES:
            raise DataError(f"{suffix or 'a file without ending'} is not taken: use {', '.join(sorted(_SUFFIXES))}.")
        stem = "".join(c if c.isalnum() or c in "-_" else "_" for c in Path(name).stem)[:60] or "file"
        path = self.runs / UPLOADS / hashlib.sha256(data).hexdigest()[:16] / f"{stem}{suffix}"
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, data, durable=False)
        return path

    def _path(self, wish: Wish) -> Path | None:
        return self.configs()[wish.config] if wish.config else None

    def _allowed(self, value: str) -> bool:
        """Whether a text, read as a path, stays where it may; any other text is, as a path, inside this folder."""
        if "://" in value or "\0" in value or len(value) > 1024 or "\n" in value:
            return "\0" not in value
        full = (self.here / Path(value).expanduser()).resolve()
        return any(full == root or root in full.parents for root in self.roots)

    def _shown_roots(self) -> str:
        return (
            " and ".join(dict.fromkeys(map(str, self.roots)))
            + "; start the dashboard with --data DIR to allow another folder"
        )


def caps_in(changes: Mapping[str, str]) -> dict[str, JSON]:
    """The budget settings among the changes, for the display of what is left."""
    return {name: float(v) for name in _CAPS if _is_number(v := changes.get(f"budget.{name}", changes.get(name, "")))}


def key_in(problem: str) -> str:
    """The setting that a message is about, where it names one."""
    found = _KEY.search(problem)
    return found[1] if found else ""


def _is_number(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False


def _mine(wish: Wish) -> Mine:
    values: dict[str, JSON] = {k: v for k in OWN if (v := wish.own.get(k, "").strip())}
    return Mine(values)


def _given(key: str, value: str) -> str:
    """A field that was emptied means null where the setting may be that."""
    return "null" if not value.strip() and key in KEYS and KEYS[key].nullable else value


def _problems(error: SkillOptError) -> tuple[str, ...]:
    if isinstance(error, (ConfigError, DataError)):
        return error.problems
    return (str(error),)


def _lines(quote: Quote) -> list[dict[str, JSON]]:
    rows: list[dict[str, JSON]] = []
    for line in quote.lines:
        if line.calls.high:
            used = line.calls * (line.prompt + line.answer)
            rows.append(
                {
                    "stage": line.stage,
                    "role": line.role,
                    "calls": _range(line.calls.low, line.calls.high),
                    "tokens": _range(used.low, used.high),
                }
            )
    return rows


def _range(low: float, high: float) -> str:
    one, two = f"{round(low):,}".replace(",", "\u202f"), f"{round(high):,}".replace(",", "\u202f")
    return one if one == two else f"{one} to {two}"
