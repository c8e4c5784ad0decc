"""A benchmark in the guide's batch form that uses every hook of it: a pool of threads, hidden references, prompts and
a reflection of its own, and a `mock` mode that asks no model."""

from __future__ import annotations

import skillopt
from skillopt.envs.base import EnvAdapter

from .desk import TicketLoader, attempts


@skillopt.benchmark("ticket_desk")
class TicketDesk(EnvAdapter):
    def __init__(
        self, split_dir: str = "", split_mode: str = "split_dir", workers: int = 2, seed: int = 0, mock: bool = False
    ) -> None:
        self.workers, self.seed, self.mock = workers, seed, mock
        self.loader = TicketLoader(split_dir=split_dir, split_mode=split_mode, seed=seed)

    def setup(self, cfg):
        super().setup(cfg)
        self.loader.setup(cfg)

    def get_dataloader(self):
        return self.loader

    def build_train_env(self, batch_size, seed, **kwargs):
        return tuple(self.loader.build_train_batch(batch_size, seed).payload)

    def build_eval_env(self, env_num, split, seed, **kwargs):
        return tuple(self.loader.build_eval_batch(env_num, split, seed).payload)

    def rollout(self, env_manager, skill_content, out_dir, **kwargs):
        assert isinstance(env_manager, tuple)
        return attempts(list(env_manager), skill_content, out_dir, workers=self.workers, mock=self.mock)

    def reflect(self, results, skill_content, out_dir, **kwargs):
        if not self.mock:
            return super().reflect(results, skill_content, out_dir, **kwargs)
        failed = [row for row in results if not row["hard"]]
        edit = {"op": "append", "content": f"## House rules\n\nLearned from {len(failed)} tickets."}
        patch = {"reasoning": "what the tickets share", "edits": [edit]}
        return [{"source_type": "failure", "batch_size": len(failed), "patch": patch}, None]

    def get_task_types(self):
        return ["routing"]

    def build_reference_text(self, item):
        return f"The right team is {item['team']}."
