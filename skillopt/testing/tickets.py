"""A second world, for skills and examples of one's own: support tickets, routed by house rules that no model can know.

`python -m skillopt.testing.tickets --write DIR` writes examples and a first skill there and serves the models.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import re
from pathlib import Path
from random import Random

from skillopt.testing.passages import budget
from skillopt.testing.server import LoopbackServer, serve
from skillopt.testing.world import World
from skillopt.types import JSON

TEAMS = {"parcel": "harbour", "invoice": "ledger", "password": "gatehouse", "refund": "ledger", "label": "harbour"}
"""What a ticket is about, and who deals with it in this house."""
SKILL = """\
---
name: ticket-routing
description: Sends a support ticket to the team that deals with it.
---

# Ticket routing

Read the ticket and answer with the name of one team: harbour, ledger or gatehouse.
"""
_OPENINGS = ("Hello, my {} is wrong", "I have been waiting for my {}", "Please help with the {}", "What about the {}")
_CLOSINGS = ("since Monday.", "and nobody answers.", "for the third time.", "before the weekend, please.")
_RULE = "- Tickets about a {} go to {}."
_TRAJECTORY = re.compile(r"<trajectory>(.*?)</trajectory>", re.DOTALL)


class Tickets(World):
    """The target guesses `gatehouse` unless the skill holds the rule; the analyst finds rules in failed tickets."""

    def reply(self, system: str, user: str) -> str:
        role = self.read(system).role
        if role == "failure analyst":
            return json.dumps(_analysis(user))
        if role == "success analyst":
            return json.dumps({"patch": {"reasoning": "Nothing to add.", "edits": []}})
        if role != "target":
            return super().reply(system, user)
        if "against a rubric" in system:
            return json.dumps(_grade(user))
        about = subject(user)
        return TEAMS[about] if about and _RULE.format(about, TEAMS[about]) in system else "gatehouse"


def subject(text: str) -> str:
    """The word of a ticket that decides; "" when there is none."""
    return next((word for word in TEAMS if re.search(rf"\b{word}\b", text)), "")


def make_tickets(n: int, seed: int = 0) -> list[dict[str, str]]:
    """`n` different tickets with the team that each belongs to."""
    random, words = Random(seed), sorted(TEAMS)
    rows: dict[str, dict[str, str]] = {}
    while len(rows) < n:
        about = words[len(rows) % len(words)]
        text = (
            f"{random.choice(_OPENINGS).format(about)} {random.choice(_CLOSINGS)} Order {random.randrange(10**6):06d}."
        )
        rows[text] = {"ticket": text, "team": TEAMS[about]}
    return list(rows.values())


def write_examples(folder: Path, n: int, seed: int = 0) -> None:
    """`examples.csv` and `SKILL.md`."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "examples.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, ["ticket", "team"])
        table.writeheader()
        table.writerows(make_tickets(n, seed))
    (folder / "SKILL.md").write_text(SKILL, encoding="utf-8")


def _analysis(user: str) -> dict[str, JSON]:
    found = [subject(text) for text in _TRAJECTORY.findall(user)]
    rules = [_RULE.format(word, TEAMS[word]) for word in dict.fromkeys(found) if word]
    edits = [{"op": "append", "content": rule} for rule in rules if rule not in user][: budget(user)]
    return {"batch_size": len(found), "failure_summary": [], "patch": {"reasoning": "Routed wrongly.", "edits": edits}}


def _grade(user: str) -> dict[str, JSON]:
    said = user.partition("<output>")[2]
    right = TEAMS.get(subject(user), "?") in said
    return {"reason": "The right team." if right else "Another team deals with this.", "points": 10 if right else 2}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m skillopt.testing.tickets", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--write", type=Path, metavar="DIR", help="write examples.csv and SKILL.md there first")
    parser.add_argument("--examples", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(arguments)
    if args.write:
        write_examples(args.write, args.examples, args.seed)
    asyncio.run(serve(LoopbackServer(Tickets(args.seed), port=args.port)))


if __name__ == "__main__":
    main()
