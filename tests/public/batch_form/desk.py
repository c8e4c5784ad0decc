"""The loader and the rollout helper of the example in `adapter.py`."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from skillopt.datasets.base import SplitDataLoader
from skillopt.model import chat_target


class TicketLoader(SplitDataLoader):
    def load_split_items(self, split_path: str) -> list[dict]:
        lines = (Path(split_path) / "tickets.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]


def attempt(item: dict, skill: str, out_dir: str, mock: bool) -> dict:
    answer = item["team"] if mock and "## House rules" in skill else "nobody"
    if not mock:
        answer, _usage = chat_target(system=skill, user=item["ticket"])
    right = answer.strip() == item["team"]
    place = Path(out_dir, "predictions", item["id"])
    place.mkdir(parents=True)
    told = [{"role": "user", "content": item["ticket"]}, {"role": "assistant", "content": answer}]
    (place / "conversation.json").write_text(json.dumps(told), encoding="utf-8")
    row = {"id": item["id"], "hard": int(right), "soft": 1.0 if right else 0.25, "predicted_answer": answer}
    return row if right else row | {"fail_reason": f"{answer!r} is not the team", "desk": 7}


def attempts(items: list[dict], skill: str, out_dir: str, *, workers: int, mock: bool) -> list[dict]:
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda item: attempt(item, skill, out_dir, mock), items))
