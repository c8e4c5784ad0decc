"""What `skillopt init` asks, and the file it writes. Everything is checked before a line of it is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import click

from skillopt import app
from skillopt.cli.own import HERE
from skillopt.datasets.sources import data_files
from skillopt.envs.base import DataSource
from skillopt.envs.own.adapter import Own, OwnOptions
from skillopt.envs.own.defaults import SPLIT, defaults
from skillopt.envs.own.scoring import JUDGE, MEANINGS, kind_of
from skillopt.envs.own.table import Table
from skillopt.evaluation.survey import survey
from skillopt.skill.document import Skill
from skillopt.types import JSON

_STARTER = "# Skill\n"


@dataclass(frozen=True, slots=True)
class Answers:
    """What is known so far: about skill and data by flag name, and about the models."""

    own: dict[str, str]
    models: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Start:
    skill: str
    data: str
    options: Mapping[str, str]
    table: Table
    models: Mapping[str, str]


def settled(answers: Answers, *, asking: bool) -> Start:
    """Everything the file needs: given, asked for, or guessed from the data."""
    own = dict(answers.own)
    skill = own.pop("own_skill", "") or _asked("Your skill document", "SKILL.md", asking)
    data = own.pop("data", "") or _asked("Your examples (.csv, .jsonl or .json)", _only_file(), asking)
    if not data:
        raise click.UsageError("which examples? Give --data FILE (.csv, .jsonl or .json).")
    if asking and not own.get("scorer"):
        _explain_scorers()
    own["scorer"] = own.get("scorer") or _asked_scorer(data, own, asking)
    if kind_of(own["scorer"]) == JUDGE and not own.get("rubric"):
        own["rubric"] = _asked("What makes an output good? (a sentence or two, or a .md file)", "", asking)
    options = {name: value for name, value in own.items() if value}
    table = Own(OwnOptions.model_validate(options)).table(DataSource(data_path=data))
    fields = table.fields
    options |= {"input": ", ".join(fields.input), "answer": fields.answer, "scorer": table.scorer}
    return Start(skill, data, {k: v for k, v in options.items() if v}, table, _models(answers.models, asking))


def written(start: Start) -> tuple[str, ...]:
    """Write the file, and the skill where there is none; the lines say what was done and found."""
    said: list[str] = []
    path = Path(start.skill)
    if path.exists() or start.skill != "SKILL.md":
        Skill.load(path)
    else:
        path.write_text(_STARTER, encoding="utf-8")
        said.append(f"{path} was not there; it now holds a heading to start from.")
    HERE.write_text(page(start), encoding="utf-8")
    try:
        config = app.load(HERE).config
    except Exception:
        HERE.unlink()
        raise
    benchmark = Own(OwnOptions.model_validate(dict(config.env.options)))
    lines = survey(benchmark, app.data_source(config, Path()), scorer_given=True)
    return (*said, *lines, f"{HERE} is written. Next: skillopt train")


def page(start: Start) -> str:
    fitting = defaults(len(start.table.rows), start.table.scorer)
    rows: list[tuple[str, JSON, str]] = [
        ("name", "own", "your own examples"),
        ("skill_init", start.skill, "the document to improve; only `skillopt apply` ever writes it"),
        ("data_path", start.data, "one row for each example"),
        *((name, value, _MEANING[name]) for name, value in start.options.items()),
        ("split_ratio", SPLIT, "train:validation:test, cut the same way every time"),
    ]
    models = [(name, value, _MEANING[name]) for name, value in start.models.items() if value]
    numbers: list[tuple[str, JSON, str]] = [
        ("num_epochs", 4, "passes over the training items"),
        ("batch_size", fitting["train.batch_size"], "examples attempted before each round of edits"),
    ]
    metric = str(fitting.get("evaluation.gate_metric", "hard"))
    gate: list[tuple[str, JSON, str]] = [("gate_metric", metric, "hard: pass or fail; soft: partial credit counts")]
    sections = {"env": rows, "model": models, "train": numbers, "evaluation": gate}
    body = "\n".join(_section(name, found) for name, found in sections.items() if found)
    hint = "" if models else _NO_MODELS
    return f"{_HEAD}\n{body}{hint}"


_HEAD = """\
# What is trained, on what, and how it is scored. `skillopt train` in this folder reads this file.
# Every other setting has a default: `skillopt config explain` lists them all.
"""
_NO_MODELS = """
# model:                    # who does the tasks, and who writes the edits; keys come from the environment
#   backend: openai_compatible
#   target: gpt-5.5
#   optimizer: gpt-5.5
"""
_MEANING = {
    "input": "column with what the model is asked",
    "answer": "column with the expected answer",
    "label": "column by which the splits are balanced",
    "scorer": "how an output is scored",
    "rubric": "what the judge looks for",
    "template": "the user message; {column} stands for a column",
    "backend": "where models are called; keys come from the environment",
    "target": "the model that the skill is trained for",
    "optimizer": "the model that writes the edits",
}


def _section(name: str, rows: list[tuple[str, JSON, str]]) -> str:
    written = [(f"  {key}: {_scalar(value)}", why) for key, value, why in rows]
    width = min(44, max(len(text) for text, _ in written))
    return f"{name}:\n" + "".join(f"{text:{width}}  # {why}\n" for text, why in written)


def _scalar(value: JSON) -> str:
    """A YAML scalar: plain where that is safe, a JSON text (which is YAML too) where it is not."""
    text = str(value)
    plain = text.replace("_", "").replace("-", "").replace(".", "").replace("/", "").isalnum()
    return text if not isinstance(value, str) or (plain and text[0].isalpha()) else json.dumps(text, ensure_ascii=False)


def _asked(question: str, default: str, asking: bool) -> str:
    return str(click.prompt(question, default=default or None, type=str)).strip() if asking else default


def _asked_scorer(data: str, own: Mapping[str, str], asking: bool) -> str:
    options = {name: value for name, value in own.items() if value}
    guess = Own(OwnOptions.model_validate(options)).table(DataSource(data_path=data))
    columns = f"input {', '.join(guess.fields.input)}; answer {guess.fields.answer}"
    return _asked(f"How is an output scored? ({columns})", guess.scorer, asking)


def _explain_scorers() -> None:
    for name, meaning in MEANINGS.items():
        click.echo(f"  {name:24} {meaning}")


def _models(given: Mapping[str, str], asking: bool) -> dict[str, str]:
    if not asking or any(given.values()):
        return dict(given)
    target = str(click.prompt("Model that does the tasks (blank = the default)", default="", show_default=False))
    optimizer = str(click.prompt("Model that writes the edits (blank = the same)", default="", show_default=False))
    return {"target": target, "optimizer": optimizer or target}


def _only_file() -> str:
    files = data_files(Path.cwd())
    return files[0].name if len(files) == 1 else ""
