"""ALFWorld from end to end: games of our own and rebuilt ones, real engines, a player behind the loopback server."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from skillopt import app
from skillopt.agents.chat import ChatAgent
from skillopt.config.load import Override
from skillopt.envs.alfworld.adapter import Alfworld
from skillopt.envs.base import DataSource
from skillopt.journal.log import Journal
from skillopt.rollout.runner import Place, Runner
from skillopt.skill.document import Skill
from skillopt.testing.mini_alfworld import write_alfworld
from skillopt.testing.player import WHOLE_STORY, Player
from skillopt.testing.scripted import ScriptedProvider
from skillopt.testing.server import LoopbackServer
from skillopt.types import Item, Rollout

pytest.importorskip("textworld")
pytest.importorskip("fast_downward")

ROOT = Path(__file__).parents[2]
STORY = {"history_window": WHOLE_STORY, "max_steps": 100}


async def rolled(benchmark: Alfworld, items: Sequence[Item], home: Path, workers: int) -> tuple[Rollout, ...]:
    """All items through the forward pass of a run, by a player who needs no rules."""
    agent = ChatAgent(ScriptedProvider(Player(items, lessons={})))
    journal = Journal.open(home)
    try:
        runner = Runner(benchmark, agent, journal, asyncio.Semaphore(workers), workers)
        return await runner.run(Skill(), items, Place("test", "test", "test"))
    finally:
        await journal.close()


def rebuilt(shared_data: Path, folder: Path) -> list[Item]:
    """All games of the published manifest, rebuilt from public trajectories."""
    with tarfile.open(shared_data / "alfworld" / "all_191_games.tar.xz") as archive:
        archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    splits = Alfworld.configured(STORY).load(DataSource("split_dir", str(folder)))
    return [*splits.train, *splits.val, *splits.test]


async def test_the_player_wins_a_game_of_each_type(shared_data: Path, tmp_path: Path) -> None:
    items = rebuilt(shared_data, tmp_path / "data")
    kinds = {item.kind: item for item in items}
    rows = await rolled(Alfworld.configured(STORY), list(kinds.values()), tmp_path / "run", 2)
    assert len(rows) == 6 and all(row.score and row.score.hard == 1.0 for row in rows)


@pytest.mark.slow
async def test_the_player_wins_the_rebuilt_games(shared_data: Path, tmp_path: Path) -> None:
    """One in eight; all 191 with SKILLOPT_ALL_GAMES=1, which takes minutes."""
    items = rebuilt(shared_data, tmp_path / "data")
    assert len(items) == 191
    chosen = items if os.environ.get("SKILLOPT_ALL_GAMES") == "1" else items[::8]
    rows = await rolled(Alfworld.configured(STORY), chosen, tmp_path / "run", 2)
    assert not [row.item for row in rows if not row.score or not row.score.hard]


@pytest.mark.slow
async def test_a_hundred_episodes_need_one_engine_a_worker_and_no_more_memory(tmp_path: Path) -> None:
    write_alfworld(tmp_path / "data", each=(1, 1, 1), check=False)
    benchmark = Alfworld.configured(STORY)
    splits = benchmark.load(DataSource("split_dir", str(tmp_path / "data")))
    few = [*splits.train, *splits.val, *splits.test]
    items = [random.Random(n).choice(few) for n in range(100)]
    engines, high = benchmark.desk.engines, list[int]()

    async def watch() -> None:
        while True:
            assert len(engines.pids) <= 2
            high.append(sum(_resident(pid) for pid in engines.pids))
            await asyncio.sleep(0.2)

    watcher = asyncio.ensure_future(watch())
    agent = ChatAgent(ScriptedProvider(Player(few, lessons={})))
    slots = asyncio.Semaphore(2)

    async def one(item: Item) -> float:
        async with slots:
            return benchmark.score(item, await benchmark.attempt(item, "", agent)).hard

    assert await asyncio.gather(*map(one, items)) == [1.0] * 100
    assert not watcher.done()
    watcher.cancel()
    half = len(high) // 2
    assert max(high[half:]) < 1.3 * max(high[:half]) and max(high) < 2 * engines.limits.memory


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") >> 20
    except OSError:
        return 0


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_the_command_makes_thirty_winnable_games(tmp_path: Path) -> None:
    out = tmp_path / "mini"
    done = command("-m", "skillopt", "data", "prepare", "alfworld", "--mini", "--out", str(out))
    assert done.returncode == 0 and "12 train, 6 val, 12 test" in done.stdout, done.stderr
    checked = command("-m", "skillopt", "data", "check", str(out))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    again = command("-m", "skillopt", "data", "prepare", "alfworld", "--mini", "--out", str(out))
    assert again.returncode == 2 and "--force" in again.stderr


def test_two_epochs_on_small_games_improve(tmp_path: Path) -> None:
    write_alfworld(tmp_path / "mini", each=(1, 1, 1), check=False)
    given = {
        "env.split_dir": str(tmp_path / "mini"),
        "env.out_root": str(tmp_path / "run"),
        "env.history_window": WHOLE_STORY,
        "env.max_steps": 20,
        "env.workers": 2,
        "train.num_epochs": 2,
        "train.batch_size": 6,
    }
    splits = Alfworld.configured({}).load(DataSource("split_dir", str(tmp_path / "mini")))
    with LoopbackServer.in_thread(Player((*splits.train, *splits.val, *splits.test))) as server:
        settings = [Override(key, value, "test") for key, value in given.items()]
        settings.append(Override("model.azure_openai_endpoint", server.url, "test"))
        loaded = app.load(ROOT / "configs" / "alfworld" / "default.yaml", settings)
        environ = {"AZURE_OPENAI_API_KEY": "sk-loopback", "AZURE_OPENAI_AUTH_MODE": "openai_compatible"}
        asyncio.run(app.run_training(loaded, environ=environ))
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["baseline_test_hard"] == pytest.approx(2 / 6)
    assert summary["best_selection_hard"] == 1.0 and summary["test_hard"] == 1.0
    types = [json.loads(path.read_text()) for path in (tmp_path / "run").rglob("summary.json")]
    assert any("pick_two_obj_and_place" in told for told in types)
