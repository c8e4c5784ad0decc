from __future__ import annotations

import re
from pathlib import Path

import pytest

from skillopt.model.dotenv import read_env, with_env_file


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=b", "b"),
        ("export A=b", "b"),
        ("  export   A = b  ", "b"),
        ("A=", ""),
        ('A="b c" # note', "b c"),
        ("A='b # c' # note", "b # c"),
        ("A=b # note", "b"),
        ("A=b#c", "b#c"),
        ("A=#", ""),
        (r'A="say \"hi\"\n"', 'say "hi"\n'),
        (r"A='a\n'", r"a\n"),
        ("A=sk-1=2==", "sk-1=2=="),
        ("A=$(rm -rf /)", "$(rm -rf /)"),
        ('A="https://x/?a=b&c"', "https://x/?a=b&c"),
        ("\ufeffA=b\r", "b"),
    ],
)
def test_lines(line: str, value: str):
    assert read_env(line) == {"A": value}


@pytest.mark.parametrize("line", ["", "# A=b", "A", "export A", "1A=b", "set -a", "A B=c", "echo hi"])
def test_lines_that_set_nothing(line: str):
    assert read_env(line) == {}


def test_the_real_environment_wins_and_nothing_is_written_back():
    environ = {"A": "real"}
    assert with_env_file("A=file\nB=file\nB=again", environ) == {"A": "real", "B": "again"}
    assert environ == {"A": "real"}


def test_the_example_file_sets_nothing_until_it_is_edited():
    text = (Path(__file__).parents[3] / ".env.example").read_text()
    assert read_env(text) == {}
    names = set(re.findall(r"^# ?(?:export )?([A-Z_]+)=", text, re.MULTILINE))
    assert {"AZURE_OPENAI_ENDPOINT", "ANTHROPIC_API_KEY", "QWEN_CHAT_BASE_URL", "MINIMAX_API_KEY"} <= names
