"""From a file and a command line to one checked `Config`, with the origin of every value.

Weak to strong: defaults, bases, the file, `--cfg-options`, flags. Every problem of every source is gathered and raised
as one `ConfigError`, so nobody has to start the program once per mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from skillopt.config.casting import value_for
from skillopt.config.derive import derived
from skillopt.config.inherit import Inheritance
from skillopt.config.keys import FLAT_NAMES, KEYS, Key, keys_of
from skillopt.config.layers import Setting, merged, settle, unknown
from skillopt.config.names import SECTIONS
from skillopt.config.phrases import phrase
from skillopt.config.schema import Config, is_secret
from skillopt.config.suggest import did_you_mean, nearest
from skillopt.errors import ConfigError, SkillOptError
from skillopt.types import JSON

CFG_OPTIONS = "--cfg-options"
COMMAND_LINE = 1_000_000
"""Strength of whatever the command line says: above any chain of files."""

OptionsOf = Callable[[str], type[BaseModel] | None]


@dataclass(frozen=True, slots=True)
class Override:
    """A setting from outside the files. `path` is dotted or flat; a text is read by the key it is for."""

    path: str
    value: JSON = field(repr=False)
    source: str = CFG_OPTIONS


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a value came from: `configs/x.yaml:12`, `--num_epochs`, `--cfg-options`, `default`."""

    source: str

    @property
    def given(self) -> bool:
        return self.source != "default"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration, where each of its values came from, and what the reader should know about it."""

    config: Config
    provenance: Mapping[str, Provenance]
    warnings: tuple[str, ...] = ()
    option_help: Mapping[str, str] = field(default_factory=dict[str, str])


def parse_cfg_options(tokens: Iterable[str]) -> tuple[Override, ...]:
    """`key=value` tokens as overrides; the value is everything after the first `=`."""
    pairs = [token.partition("=") for token in tokens]
    bad = [f"{CFG_OPTIONS}: {key}: must be written key=value" for key, sign, _ in pairs if not sign or not key.strip()]
    if bad:
        raise ConfigError(bad)
    return tuple(Override(key.strip(), value) for key, _, value in pairs)


def load_config(
    path: Path | str | None, overrides: Sequence[Override] = (), *, benchmark_options: OptionsOf | None = None
) -> Loaded:
    """Read `path` and its bases, apply the overrides, check everything. Without a file the defaults are the base."""
    files = Inheritance()
    settings = files.read(Path(path), str(path)) if path is not None else {}
    if files.problems and not settings:
        raise ConfigError(files.problems)
    spoken = _spoken(overrides)
    problems, warnings = [*files.problems, *spoken.problems], [*files.warnings, *spoken.warnings]
    resolved, notes = derived(merged(settings, spoken.settings))
    options = _options(resolved, str(path) if path is not None else "settings", benchmark_options)
    config, errors = _validated(resolved, options)
    problems += (*options.problems, *errors)
    if problems or config is None:
        raise ConfigError(tuple(dict.fromkeys(problems)))
    origin = {k: Provenance(resolved[k].source if k in resolved else "default") for k in config.settings()}
    help_texts = {k: key.help for k, key in (options.keys or {}).items()}
    return Loaded(config, MappingProxyType(origin), (*warnings, *notes, *options.warnings), help_texts)


@dataclass(frozen=True, slots=True)
class _Spoken:
    settings: Mapping[str, Setting]
    problems: tuple[str, ...]
    warnings: tuple[str, ...]


def _spoken(overrides: Sequence[Override]) -> _Spoken:
    """The command line as one layer: among equals the last one counts, and a flag beats `--cfg-options`."""
    chosen: dict[str, Setting] = {}
    for o in sorted(overrides, key=lambda o: o.source != CFG_OPTIONS):
        path = o.path if "." in o.path else FLAT_NAMES.get(o.path, f"env.{o.path}")
        bare = "." not in o.path and o.path not in FLAT_NAMES
        chosen[path] = Setting(path, o.source, COMMAND_LINE, o.value, None, bare)
    layer = settle(tuple(chosen.values()))
    secrets = [s for s in layer.settings.values() if is_secret(s.path) and not s.blank]
    return _Spoken(layer.settings, layer.problems, (*layer.warnings, *map(_exposed, secrets)))


def _exposed(setting: Setting) -> str:
    name = setting.path.partition(".")[2].upper()
    instead = f"set {name} in the environment instead" if setting.path in KEYS else "use the environment instead"
    return f"{setting.source}: {setting.path}: a credential on the command line can be seen by others; {instead}"


@dataclass(frozen=True, slots=True)
class _Options:
    """The benchmark's options after its own check. `keys` is None when the benchmark declares no model."""

    values: Mapping[str, JSON] = field(repr=False)
    keys: Mapping[str, Key] | None = None
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def _options(settings: Mapping[str, Setting], shown: str, options_of: OptionsOf | None) -> _Options:
    given = {p: s for p, s in settings.items() if p.startswith("env.") and p not in KEYS}
    name = settings.get("env.name")
    if name is None or name.blank:
        hint = "name the benchmark: `name:` in the env section, or --env NAME, for example --env searchqa"
        return _Options({}, None, (f"{name.source if name else shown}: env.name: is empty; {hint}",))
    try:
        model = options_of(str(value_for(KEYS["env.name"], name, spoken=False))) if options_of else None
    except SkillOptError as error:
        return _Options({}, None, (f"{name.source}: env.name: {error}",))
    if model is None:
        return _undeclared(given)
    keys = keys_of(model, "env")
    shared = {p: s for p, s in settings.items() if p in keys}
    values = {p: _value(s, keys.get(p)) for p, s in (given | shared).items()}
    open_ended = model.model_config.get("extra") == "allow"
    strangers = () if open_ended else tuple(_no_option(s, keys) for p, s in given.items() if p not in keys)
    known = {p.partition(".")[2]: v for p, v in values.items() if p in keys or open_ended}
    try:
        checked = model.model_validate(known)
    except ValidationError as error:
        return _Options({}, keys, (*strangers, *_findings(error.errors(), ("env",), settings, shown)))
    return _Options(dict(checked), keys, strangers)


def _undeclared(given: Mapping[str, Setting]) -> _Options:
    """Options of a benchmark without a model pass unread, but a key that looks misspelt is pointed out."""
    problems = [f"{s.source}: {_bare(s)}" for s in given.values() if s.bare and s.strength == COMMAND_LINE]
    flat = {name for name, path in FLAT_NAMES.items() if path in KEYS}
    near = {p: nearest(p.partition(".")[2], flat, cutoff=0.85) for p in given}
    doubts = [
        f"{given[p].source}: {p}: taken as an option of the benchmark; did you mean {n}?" for p, n in near.items() if n
    ]
    return _Options(
        {p.partition(".")[2]: _value(s, None) for p, s in given.items()}, None, tuple(problems), tuple(doubts)
    )


def _bare(setting: Setting) -> str:
    name = setting.path.partition(".")[2]
    hint = did_you_mean(name, FLAT_NAMES)
    return f"{name}: unknown key{hint or f'; write {setting.path} for an option of the benchmark'}"


def _no_option(setting: Setting, keys: Mapping[str, Key]) -> str:
    name = setting.path.partition(".")[2]
    known = [k.partition(".")[2] for k in (*keys, *KEYS) if k.startswith("env.")]
    if setting.bare:
        return f"{setting.source}: {name}: unknown key{did_you_mean(name, (*FLAT_NAMES, *known))}"
    near = None if name in FLAT_NAMES else nearest(name, known)
    hint = f"; did you mean env.{near}?" if near else unknown(setting.path).partition("unknown key")[2]
    return f"{setting.source}: {setting.path}: the benchmark has no such option{hint}"


def _value(setting: Setting, key: Key | None) -> JSON:
    return value_for(key, setting, spoken=setting.strength == COMMAND_LINE)


def _validated(settings: Mapping[str, Setting], options: _Options) -> tuple[Config | None, tuple[str, ...]]:
    nested: dict[str, dict[str, JSON]] = {section: {} for section in SECTIONS}
    for path, s in settings.items():
        section, _, name = path.partition(".")
        if path in KEYS:
            nested[section][name] = _value(s, KEYS[path])
    nested["env"]["options"] = options.values
    try:
        return Config.model_validate(nested), ()
    except ValidationError as error:
        return None, _findings(error.errors(), (), settings, "")


def _findings(
    errors: Sequence[ErrorDetails], prefix: tuple[str, ...], settings: Mapping[str, Setting], shown: str
) -> tuple[str, ...]:
    lines: list[str] = []
    for error in errors:
        parts = (*prefix, *map(str, error["loc"]))
        path = ".".join(parts[:2])
        source = settings[path].source if path in settings else shown or "default"
        text = phrase(error, secret=is_secret(path) or any(map(is_secret, parts)))
        lines.append(f"{source}: {'.'.join(parts)}: {text}")
    return tuple(lines)
