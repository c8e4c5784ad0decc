"""The script in a reply."""

from __future__ import annotations

import pytest

from skillopt.envs.spreadsheetbench.script import as_reply, script_in


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("", ""),
        (" \n", ""),
        ("x = 1", "x = 1"),
        ("Here:\n```python\nx = 1\n```\nDone.", "x = 1\n"),
        ("```\nx = 1\n```", "x = 1\n"),
        ("```bash\npip list\n```\n```python\nx = 1\n```\n```py\ny = 2\n```", "x = 1\n"),
        ("```text\nfirst\n```\n```\nsecond\n```", "first\n"),
        ("```python\nx = 1\ny = ", "x = 1\ny = "),
        ("````python\ntext = '''\n```\n'''\n````", "text = '''\n```\n'''\n"),
        ("~~~Python\nx = 1\n~~~", "x = 1\n"),
        ("```python\r\nx = 1\r\n```\r\n", "x = 1\r\n"),
        ("```python\n\n```", ""),
    ],
)
def test_replies(reply: str, wanted: str) -> None:
    assert script_in(reply) == wanted


@pytest.mark.parametrize("script", ["x = 1\n", "x = '''\n```\n````\n'''\n", "# ```python\ny = 2\n"])
def test_a_script_survives_being_a_reply(script: str) -> None:
    assert script_in(as_reply(script)) == script


def test_no_script_is_no_reply() -> None:
    assert as_reply(" \n") == ""
