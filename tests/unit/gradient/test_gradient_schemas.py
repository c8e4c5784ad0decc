from __future__ import annotations

import pytest
from pydantic import ValidationError

from skillopt.gradient.schemas import EditRow, FailureAnalysis, MergedEdits, SuccessAnalysis


def test_nulls_strings_and_strangers_are_tolerated():
    row = EditRow.model_validate(
        {"op": "Replace ", "target": None, "content": ["a", "b"], "support_count": "3 items", "support": 7, "x": 1}
    )
    assert row.support_count == 3 and row.support == ("7",)
    edit = row.edit()
    assert (edit.op, edit.target, edit.content) == ("replace", "", "a\nb")


def test_an_unknown_op_is_kept_as_text():
    assert EditRow.model_validate({"op": "Prepend"}).edit().op == "Prepend"


def test_a_batch_size_that_is_no_number_does_not_matter():
    value = FailureAnalysis.model_validate({"batch_size": "eight", "patch": {}, "failure_summary": [None, {}]})
    assert value.batch_size is None and len(value.failure_summary) == 1


def test_a_bare_patch_is_taken_as_the_patch():
    value = SuccessAnalysis.model_validate({"patch": None, "edits": [{"content": "c"}], "success_patterns": "one"})
    assert value.patch.edits[0].content == "c" and value.success_patterns == ("one",)


@pytest.mark.parametrize("schema", [FailureAnalysis, MergedEdits])
@pytest.mark.parametrize("row", [{"reasoning": "only words"}, []])
def test_an_answer_without_edits_is_none(schema, row):
    with pytest.raises(ValidationError):
        schema.model_validate(row)


def test_a_merge_with_something_that_is_no_edit_is_invalid():
    with pytest.raises(ValidationError):
        MergedEdits.model_validate({"edits": ["append this"]})
