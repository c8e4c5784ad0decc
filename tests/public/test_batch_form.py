"""The batch form end to end, on a benchmark of our own that stands outside the package and is named by its file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillopt.testing.server import LoopbackServer
from skillopt.testing.tickets import Tickets, make_tickets
from skillopt.testing.trial import Trial, outcome_of

HERE = Path(__file__).parent / "batch_form" / "adapter.py"


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer.in_thread(Tickets(0)) as server:
        yield server


def trial(home: Path, url: str, **settings: object) -> Trial:
    rows = [{"id": f"t{i}", **row} for i, row in enumerate(make_tickets(40))]
    for name, part in (("train", rows[:20]), ("val", rows[20:30]), ("test", rows[30:])):
        (home / "split" / name).mkdir(parents=True, exist_ok=True)
        (home / "split" / name / "tickets.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
    (home / "SKILL.md").write_text("# Tickets\n")
    (home / "config.yaml").write_text(
        f'env:\n  name: "{HERE}:TicketDesk"\n  split_mode: split_dir\n  workers: 5\n  skill_init: {home}/SKILL.md\n'
        "train:\n  batch_size: 10\n  num_epochs: 2\n"
    )
    environ = {"AZURE_OPENAI_API_KEY": "sk-batch", "AZURE_OPENAI_AUTH_MODE": "openai_compatible"}
    return Trial(home, url, home / "config.yaml", settings, environ)


def test_it_trains_and_its_own_threads_are_counted(tmp_path: Path, server: LoopbackServer) -> None:
    outcome = trial(tmp_path, server.url).train()
    summary = json.loads((tmp_path / "run/summary.json").read_text())
    assert summary["baseline_test_hard"] < 0.5 and summary["test_hard"] == 1.0
    assert outcome.view.usage["rollout"].calls == server.stats()["roles"]["target"]
    assert sum(usage.calls for usage in outcome.view.usage.values()) == server.stats()["requests"]
    written = (tmp_path / "run/steps/step_0001/rollout/results.jsonl").read_text()
    rows = [json.loads(line) for line in written.splitlines()]
    assert {row["task_type"] for row in rows} == {"routing"} and any(row.get("desk") == 7 for row in rows)


def test_stopped_anywhere_it_continues_and_ends_the_same(tmp_path: Path, server: LoopbackServer) -> None:
    whole = trial(tmp_path / "a", server.url)
    whole.train()
    total, halted = server.stats()["requests"], trial(tmp_path / "b", server.url)

    class Halt(Exception): ...

    for stop in (12, 40):

        def halt(seq: int, moment: str, stop: int = stop) -> None:
            if seq >= stop:
                raise Halt

        with pytest.raises(Halt):
            halted.train(on_commit=halt)
    server.reset()
    halted.train()
    assert outcome_of(tmp_path / "a/run") == outcome_of(tmp_path / "b/run")
    assert server.stats()["requests"] < total


def test_mock_asks_no_model_and_has_no_key(tmp_path: Path, server: LoopbackServer) -> None:
    settings = {"env.mock": True, "train.num_epochs": 1, "train.batch_size": 20, "optimizer.use_slow_update": False}
    outcome = trial(tmp_path, server.url, **settings).train()
    assert server.stats()["requests"] == 0 and not sum(usage.calls for usage in outcome.view.usage.values())
    assert "Learned from 20 tickets." in (tmp_path / "run/best_skill.md").read_text()
    assert json.loads((tmp_path / "run/summary.json").read_text())["test_hard"] == 1.0
    for name in (
        "config.json", "runtime_state.json", "history.json", "summary.json", "skills/skill_v0001.md",
        "steps/step_0001/ranked_edits.json", "steps/step_0001/candidate_skill.md", "steps/step_0001/step_record.json",
        "steps/step_0001/patches/minibatch_fail_000.json",
    ):  # fmt: skip
        assert (tmp_path / "run" / name).is_file(), name


def test_a_decorated_class_is_called_by_its_name(tmp_path: Path) -> None:
    from skillopt.envs.base import EnvAdapter
    from skillopt.envs.bridge import bridged
    from skillopt.registry import BENCHMARKS, load

    place = f"{HERE}:TicketDesk"
    found = load(BENCHMARKS, place)
    assert issubclass(found, EnvAdapter)
    assert bridged(found, place).name == "ticket_desk"
    assert set(bridged(found, place).Config.model_fields) == {"mock"}


def test_a_place_never_becomes_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: LoopbackServer) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    made = trial(tmp_path, server.url, **{"env.mock": True, "train.num_epochs": 1, "env.out_root": ""})
    assert made.train().run_dir.parent == Path("outputs/ticket_desk")
