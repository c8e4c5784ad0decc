from __future__ import annotations

import time

import pytest

from skillopt.model.extract import extract_json, extract_json_array

NESTED_FENCE = '```json\n{"content": "use ```sh\\nls\\n``` here"}\n```'


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Sure!\n```json\n{"a": 1}\n```\nDone {x}.', {"a": 1}),
        ("```JSON\n[1, 2]\n```", [1, 2]),
        (NESTED_FENCE, {"content": "use ```sh\nls\n``` here"}),
        ('prose {"a": {"b": "}"}} prose', {"a": {"b": "}"}}),
        ('{"a": 1,}', {"a": 1}),
        ('```json\n{"a": "line\nbreak",}\n``` and {"b": 2}', {"a": "line\nbreak"}),
        ('A 5" pipe.\n{"a": [1, 2,]}', {"a": [1, 2]}),
        ('He said "{no}" and gave {"a": 1,}', {"a": 1}),
        ('{"a": 1} and {"b": 2}', None),
        ('{"a": 1', None),
        ("{a: 1}", None),
        ("no json at all", None),
        ("", None),
        ("{}x}", None),
    ],
)
def test_objects(text: str, value: object):
    assert extract_json(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("```json\n[1]\n```", [1]),
        ("the order is [3, 0, 1].", [3, 0, 1]),
        ('{"a": [1]} but really [2]', [2]),
        ("[1] or [2]", None),
        ("[broken or [2]", [2]),
        ("{ stray and [2]", [2]),
        ('"[1]" and [2]', [2]),
        ("none", None),
    ],
)
def test_arrays(text: str, value: object):
    assert extract_json_array(text) == value


@pytest.mark.parametrize("unit", ["{", "[", '"', '\\"', '{"', "}", "```json\n", '{"a":[', "{}"])
def test_time_is_linear(unit: str):
    text = '"' + unit * (200_000 // len(unit))
    started = time.perf_counter()
    extract_json(text)
    extract_json_array(text)
    assert time.perf_counter() - started < 1.5
