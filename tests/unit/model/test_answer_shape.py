"""What a model is held to when it answers in JSON: the shape that is sent, and the fence of a local model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, Field

import skillopt.prompts
from skillopt.envs.own.judge import Grade
from skillopt.gradient.schemas import (
    FailureAnalysis,
    FreeFailureAnalysis,
    FreeMergedEdits,
    FreeSuccessAnalysis,
    MergedEdits,
    SuccessAnalysis,
)
from skillopt.model.gateway import build_gateway
from skillopt.model.local_grammar import MOST_CHARACTERS, MOST_ITEMS, bounded, choice, without_examples
from skillopt.model.shape import asked, shape_of
from skillopt.model.structured import ask
from skillopt.model.types import Message
from skillopt.optimizer.schemas import ChosenRate, Guidance, Memory, Ranking, Rewrite, ShorterNotes
from skillopt.testing.scripted import ScriptedProvider

PROMPTS = Path(skillopt.prompts.__file__).parent
HELD = (
    FailureAnalysis,
    SuccessAnalysis,
    MergedEdits,
    Ranking,
    ChosenRate,
    Rewrite,
    ShorterNotes,
    Guidance,
    Memory,
    Grade,
)


class Leaf(BaseModel):
    colour: Literal["red", "green"] = "red"
    size: int | None = None


class Tree(BaseModel):
    model_config = asked("reasoning", "leaves", "note?")

    leaves: list[Leaf] = Field(default=[], max_length=3)
    note: str = ""
    reasoning: str = ""
    ignored: str = ""


def objects(part):
    """Every object schema in a schema."""
    if isinstance(part, dict):
        if part.get("type") == "object":
            yield part
        for value in part.values():
            yield from objects(value)
    elif isinstance(part, list):
        for value in part:
            yield from objects(value)


def test_what_is_asked_for_in_its_order_and_nothing_else():
    shape = shape_of(Tree)
    assert list(shape["properties"]) == ["reasoning", "leaves", "note"]
    assert shape["required"] == ["reasoning", "leaves"] and shape["additionalProperties"] is False
    leaf = shape["$defs"]["Leaf"]
    assert leaf["properties"] == {"colour": {"enum": ["red", "green"], "type": "string"}, "size": {"type": "integer"}}
    assert leaf["required"] == ["colour"]
    assert shape["properties"]["leaves"] == {"items": {"$ref": "#/$defs/Leaf"}, "type": "array", "maxItems": 3}


@pytest.mark.parametrize("schema", HELD, ids=lambda s: s.__name__)
def test_every_shape_of_the_house_is_tight_and_plain(schema):
    shape = shape_of(schema)
    for part in objects(shape):
        assert part["additionalProperties"] is False and part["required"]
        assert set(part["required"]) <= set(part["properties"])
    words = json.dumps(shape)
    assert not any(f'"{word}"' in words for word in ("title", "default", "asked", "null"))


def test_an_edit_is_one_of_the_known_operations_and_comes_after_its_reasons():
    shape = shape_of(FailureAnalysis)
    assert list(shape["properties"])[:2] == ["failure_summary", "patch"]
    assert shape["$defs"]["EditRow"]["properties"]["op"]["enum"] == ["append", "insert_after", "replace", "delete"]


def test_modes_that_propose_no_edits_are_held_to_nothing():
    assert [shape_of(s) for s in (FreeFailureAnalysis, FreeSuccessAnalysis, FreeMergedEdits)] == [None] * 3


def test_a_local_model_gets_an_end_to_lists_and_explanations():
    fenced = bounded(shape_of(FailureAnalysis))
    row = fenced["$defs"]["EditRow"]["properties"]
    assert row["why"]["maxLength"] == MOST_CHARACTERS and "maxLength" not in row["content"]
    assert row["support"]["maxItems"] == MOST_ITEMS and "maxLength" not in row["op"]
    assert bounded(shape_of(Tree))["properties"]["leaves"]["maxItems"] == 3
    assert shape_of(FailureAnalysis)["properties"]["failure_summary"].get("maxItems") is None


def test_a_choice_is_a_grammar_of_its_options():
    assert choice(['say "hi"', "nö"], " ") == 'root ::= " say \\"hi\\"" | " nö"'


def test_a_local_model_is_not_shown_an_example_it_could_copy():
    for name in ("analyst_error", "ranking", "slow_update"):
        system = PROMPTS.joinpath(f"{name}.md").read_text()
        left, kept = without_examples((Message("system", system), Message("user", "```json\n{}\n```")))
        assert "```json" in system and "```" not in left.text and "An example of the form" not in left.text
        assert "Answer with one JSON object" in left.text and kept.text == "```json\n{}\n```"


async def test_the_shape_goes_to_those_who_take_it_and_to_nobody_else():
    for schemas in (True, False):
        provider = ScriptedProvider(['{"reasoning": "", "selected_indices": [0]}'])
        gateway = build_gateway(provider, schemas=schemas)
        answer = await ask(gateway, "s", "u", Ranking, stage="ranking")
        assert answer.value and (provider.requests[0].json_schema is not None) == schemas
