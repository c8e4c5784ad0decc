"""How a written text becomes a value, by the key it was written for.

The key decides, not the look of the text: `out_root=2024` stays text, `use_gate=0` is false, `batch_size="40"` is a
number. Only an option of a benchmark without a declared model is read by its look, as YAML would.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import yaml

from skillopt.config.keys import Key
from skillopt.config.layers import Setting
from skillopt.types import JSON

TRUTH: Mapping[str, bool] = MappingProxyType(
    {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
)


def value_for(key: Key | None, setting: Setting, *, spoken: bool) -> JSON:
    """The value to hand to the schema. `spoken`: it came from the command line, where everything is text."""
    value = setting.value
    if key is None:
        return by_look(value) if spoken and isinstance(value, str) else value
    if value is None:
        return "" if key.text and not key.nullable else None
    if isinstance(value, str) and key.nullable and not value.strip():
        return None
    if key.text:
        return _as_written(setting)
    if key.boolean:
        return TRUTH.get(str(value).strip().lower(), value) if spoken else value
    return by_look(value) if isinstance(value, str) else value


def _as_written(setting: Setting) -> JSON:
    if setting.text is not None:
        return setting.text
    value = setting.value
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (int, float)) else value


def by_look(text: str) -> JSON:
    """true, false, null, numbers and `[lists]`; anything else stays text."""
    word = text.strip()
    if word.lower() in ("null", "~"):
        return None
    if word.lower() in TRUTH and not word.isdigit():
        return TRUTH[word.lower()]
    for number in (int, float):
        try:
            return number(word)
        except ValueError:
            continue
    if word.startswith("["):
        try:
            return yaml.safe_load(word)
        except yaml.YAMLError:
            return text
    return text
