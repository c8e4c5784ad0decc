"""Every benchmark that agent programs can do, with the real programs: the right answer takes skill and material."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt.agents.cli.agent import CliAgent
from skillopt.agents.cli.box import box
from skillopt.agents.cli.build import CLIS
from skillopt.agents.cli.found import find, installed
from skillopt.envs.base import Benchmark, DataSource
from skillopt.errors import ConfigError
from skillopt.model.resolve import resolve
from skillopt.model.settings import Settings
from skillopt.registry import BENCHMARKS, load
from skillopt.testing.mini_docvqa import write_docvqa
from skillopt.testing.mini_livemath import write_livemath
from skillopt.testing.mini_officeqa import write_officeqa
from skillopt.testing.mini_spreadsheet import write_spreadsheets
from skillopt.testing.pupil import LESSONS, Lookup, Pupil, questions_for
from skillopt.testing.stream_server import StreamServer, worldly
from skillopt.types import JSON

SKILL = "# Lessons\n\n" + "\n".join(f"- Rule {name}: follow it." for name in LESSONS) + "\n"
Written = tuple[Path, dict[str, JSON]]


def docvqa(folder: Path) -> Written:
    return write_docvqa(folder, (1, 1, 1)), {}


def livemath(folder: Path) -> Written:
    return write_livemath(folder, (1, 1, 1)), {}


def officeqa(folder: Path) -> Written:
    split, docs = write_officeqa(folder, (1, 1, 1))
    return split, {"data_dirs": [str(docs)]}


def spreadsheets(folder: Path) -> Written:
    split, root = write_spreadsheets(folder, (1, 1, 1))
    return split, {"data_root": str(root), "mode": "single"}


MATERIAL: dict[str, tuple[Callable[[Path], Written], str, tuple[Lookup, ...], str]] = {
    "docvqa": (docvqa, "", (), "question"),
    "livemathematicianbench": (livemath, "", (), "question"),
    "officeqa": (officeqa, "grep -ri bulletin /documents", (Lookup("", "", proof="ulletin"),), "question"),
    "spreadsheetbench": (spreadsheets, "ls -l input.xlsx", (Lookup("", "", proof="input.xlsx"),), "instruction"),
}
"""How the data is made, what the agent looks up first, what that must bring, and the field that is the question."""


def agent(name: str, server: StreamServer) -> CliAgent:
    kind = CLIS[name]
    if installed(kind, os.environ) is None:
        pytest.skip(f"{name}: not installed ({kind.advice})")
    try:
        made = box()
    except ConfigError as error:
        pytest.skip(str(error))
    keys = {"OPENAI_API_KEY": "sk-x", "ANTHROPIC_API_KEY": "sk-x"}
    environ = {**keys, "OPENAI_BASE_URL": server.url, "ANTHROPIC_BASE_URL": server.origin}
    config = {"target": "claude-sonnet-4-6" if "claude" in name else "gpt-5.4", "target_backend": name}
    cli = kind.of(Settings(config, "target", environ))
    endpoint = resolve(config, "target", environ)
    return CliAgent(cli, find(kind, cli.path, os.environ), made, endpoint, 60, asyncio.Semaphore(2))


@pytest.mark.parametrize("benchmark", MATERIAL)
@pytest.mark.parametrize("name", ["codex_exec", "claude_code_exec"])
async def test_the_benchmark(name: str, benchmark: str, tmp_path: Path) -> None:
    write, opening, lookups, field = MATERIAL[benchmark]
    split, options = await asyncio.to_thread(write, tmp_path)
    kind = load(BENCHMARKS, benchmark)
    assert issubclass(kind, Benchmark)
    made = kind.configured(options)
    assert made.needs <= CliAgent.offers
    item = made.load(DataSource("split_dir", str(split))).train[0]
    pupil = Pupil(questions_for(made, [item], field=field, lookups=lookups))
    async with StreamServer(worldly(pupil, opening=opening)) as server:
        bare = agent(name, server)
        for text, right in ((SKILL, 1.0), ("", 0.0)):
            held, shown = bare.holding(text)
            attempt = await made.attempt(item, shown, held)
            judgement = await made.judged(item, attempt, None)
            assert judgement.score.hard == right, attempt.answer
