"""A miniature ALFWorld: small invented rooms as playable games of all six types, each proven winnable when it is made.

The rules of the world (domain and grammar) are those of the `alfworld` package and are read from it, so that commands
and answers are the real ones; the rooms, the things in them and the goals are ours.
Needs `pip install "skillopt[alfworld]"`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from random import Random

from skillopt.datasets.prepare.writing import check_place, made, write_split
from skillopt.datasets.splits import NAMES
from skillopt.envs.alfworld.games import GAME, NOTES, PARTS, TYPES
from skillopt.envs.alfworld.names import spoken_names
from skillopt.envs.alfworld.pool import Limits, Pool
from skillopt.errors import DataError
from skillopt.testing.mini_rooms import APPLIANCES, FLAGS, ROOMS, Room, problem
from skillopt.types import JSON

_LAMP = "DeskLamp"
_OTHERS = 6
"""Things that lie about and are not asked for."""
_WORDS: Mapping[str, str] = {
    "pick_and_place": "put some {thing} on {place}",
    "look_at_obj_in_light": "examine the {thing} with the desklamp",
    "pick_clean_then_place_in_recep": "put a clean {thing} in {place}",
    "pick_heat_then_place_in_recep": "put a hot {thing} in {place}",
    "pick_cool_then_place_in_recep": "put a cool {thing} in {place}",
    "pick_two_obj_and_place": "put two {thing} in {place}",
}


@dataclass(frozen=True, slots=True)
class Rulebook:
    domain: str
    grammar: str


@dataclass(slots=True)
class Plan:
    """A game before it is written down: which thing goes where, and where everything is at the start."""

    kind: str
    room: Room
    thing: str
    place: str
    holders: dict[str, str] = field(default_factory=dict[str, str])
    """The identifiers of places, and their kinds."""
    things: dict[str, str] = field(default_factory=dict[str, str])
    """The identifiers of things, and the places they are in."""

    @property
    def goal(self) -> str:
        return _WORDS[self.kind].format(thing=self.thing.lower(), place=self.place.lower())


def prepare_mini(out: Path, *, force: bool = False, seed: int = 0) -> dict[str, int]:
    """What `skillopt data prepare alfworld --mini` does: a directory that is there whole or not at all.

    The counts of the three splits come back.
    """
    check_place(out, (), force=force)
    with made(out) as fresh:
        return write_alfworld(fresh, seed=seed)


def write_alfworld(
    directory: Path, each: tuple[int, int, int] = (2, 1, 2), seed: int = 0, check: bool = True
) -> dict[str, int]:
    """Write so many games of each type for the three splits; the directory is both `split_dir` and data root.

    The games lie in a tree like the published one, and the same seed gives the same games.
    """
    rules, random, known = rulebook(), Random(seed), set[tuple[str, int]]()
    rows: dict[str, list[dict[str, JSON]]] = {}
    for split, count in zip(NAMES, each, strict=True):
        plans = [_fresh(kind, random, known) for _ in range(count) for kind in TYPES]
        rows[split] = [_written(plan, directory, split, number, rules) for number, plan in enumerate(plans)]
    if check:
        paths = [directory / row["gamefile"] for split in NAMES for row in rows[split]]
        asyncio.run(prove(paths))
    counts = {split: len(found) for split, found in rows.items()}
    about: dict[str, JSON] = {"benchmark": "alfworld", "sources": [{"name": "mini"}], "seed": seed, "counts": counts}
    about |= {"item_fields": ["gamefile", "id", "task_type"], "licence": "Rooms of our own; rules of ALFWorld, MIT."}
    write_split(directory, rows, about)
    return counts


def rulebook() -> Rulebook:
    """The rules of the installed `alfworld`; the package itself is not imported."""
    try:
        home = Path(str(distribution("alfworld").locate_file("alfworld"))) / "data"
    except PackageNotFoundError as error:
        said = 'The rules of the games come with the alfworld package: pip install "skillopt[alfworld]"'
        raise DataError(said) from error
    texts = [(home / name).read_text(encoding="utf-8") for name in ("alfred.pddl", "alfred.twl2")]
    return Rulebook(*texts)


async def prove(paths: Sequence[Path]) -> None:
    """Play each game by its walkthrough; one that is not won is refused."""
    pool = Pool(Limits())
    try:
        for path in paths:
            async with pool.play(path) as game:
                scene = await game.start()
                already = scene.won
                for command in json.loads(path.read_text(encoding="utf-8"))["walkthrough"]:
                    scene = await game.step(command)
            if already or not scene.won:
                raise DataError(f"The game {path} is {'won before it begins' if already else 'not won as planned'}.")
    finally:
        await pool.close()


def _fresh(kind: str, random: Random, known: set[tuple[str, int]]) -> Plan:
    """A plan whose goal has not been set in that room before, so that no split gives away another."""
    while True:
        plan = _plan(kind, random)
        if (plan.goal, plan.room.number) not in known:
            known.add((plan.goal, plan.room.number))
            return plan


def _plan(kind: str, random: Random) -> Plan:
    room = random.choice([room for room in ROOMS if room.allows(kind)])
    plan = Plan(kind, room, random.choice(room.fitting(kind)), random.choice(room.goals))
    for holder, count in room.holders.items():
        for number in range(1, count + 1):
            name = f"Sink_bar_{number}_bar_SinkBasin" if holder == "SinkBasin" else f"{holder}_bar_{number}"
            plan.holders[name] = holder
    # Not at the destination, and not in an appliance: the game would be won too soon or too easily.
    hiding = [name for name, holder in plan.holders.items() if holder not in (plan.place, *APPLIANCES)]
    wanted = [plan.thing] * (2 if kind == "pick_two_obj_and_place" else 1)
    others = random.sample([thing for thing in room.things if thing != plan.thing], _OTHERS)
    for number, thing in enumerate((*wanted, *others), 1):
        plan.things[f"{thing}_bar_{number}"] = random.choice(hiding)
    if kind == "look_at_obj_in_light":
        open_places = [name for name, holder in plan.holders.items() if holder not in room.openable]
        plan.things[f"{_LAMP}_bar_1"] = random.choice(open_places)
    return plan


def _written(plan: Plan, directory: Path, split: str, number: int, rules: Rulebook) -> dict[str, JSON]:
    told = "pick_and_place_simple" if plan.kind == "pick_and_place" else plan.kind
    target = "None" if plan.kind == "look_at_obj_in_light" else plan.place
    folder = f"json_2.1.1/{PARTS[split]}/{told}-{plan.thing}-None-{target}-{plan.room.number}/trial_mini_{number:03d}"
    (directory / folder).mkdir(parents=True)
    steps = list(_walkthrough(plan))
    game = {
        "pddl_domain": rules.domain,
        "grammar": rules.grammar.replace("UNKNOWN GOAL", plan.goal),
        "pddl_problem": problem(plan.kind, plan.room, plan.thing, plan.place, plan.holders, plan.things),
        "solvable": True,
        "walkthrough": steps,
    }
    (directory / folder / GAME).write_text(json.dumps(game, indent=1), encoding="utf-8")
    (directory / folder / NOTES).write_text(json.dumps(_notes(plan, told, steps), indent=1), encoding="utf-8")
    return {"id": f"{split}:{number:04d}", "gamefile": f"{folder}/{GAME}", "task_type": plan.kind}


def _walkthrough(plan: Plan) -> Iterator[str]:
    spoken = spoken_names(name.lower() for name in (*plan.holders, *plan.things))
    called = {name: spoken[name.lower()] for name in (*plan.holders, *plan.things)}
    opened: set[str] = set()

    def reach(holder: str, *, inside: bool = True) -> Iterator[str]:
        yield f"go to {called[holder]}"
        if inside and plan.holders[holder] in plan.room.openable and holder not in opened:
            opened.add(holder)
            yield f"open {called[holder]}"

    flag = FLAGS.get(plan.kind)
    goal = next(name for name, holder in plan.holders.items() if holder == plan.place)
    for thing in [name for name in plan.things if name.startswith(f"{plan.thing}_bar_")]:
        yield from reach(plan.things[thing])
        yield f"take {called[thing]} from {called[plan.things[thing]]}"
        if plan.kind == "look_at_obj_in_light":
            yield from reach(plan.things[f"{_LAMP}_bar_1"])
            yield f"use {called[f'{_LAMP}_bar_1']}"
            return
        if flag:
            appliance = next(name for name, holder in plan.holders.items() if holder == flag.appliance)
            yield from reach(appliance, inside=False)
            yield f"{flag.verb} {called[thing]} with {called[appliance]}"
        yield from reach(goal)
        yield f"move {called[thing]} to {called[goal]}"


def _notes(plan: Plan, told: str, steps: Sequence[str]) -> dict[str, JSON]:
    """In the shape of the published notes, as far as anybody reads them."""
    return {
        "task_type": told,
        "scene": {"floor_plan": f"Mini{plan.room.number}"},
        "pddl_params": {"object_target": plan.thing, "parent_target": plan.place},
        "turk_annotations": {"anns": [{"task_desc": plan.goal.capitalize() + ".", "high_descs": list(steps)}]},
        "plan": {"high_pddl": [{"discrete_action": {"action": step.split()[0], "args": [step]}} for step in steps]},
    }
