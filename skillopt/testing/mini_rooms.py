"""The rooms of the miniature ALFWorld, and a game's starting position in the planner's language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Treatment:
    """What is done to a thing, where, what that makes of it, and which things allow it."""

    verb: str
    appliance: str
    able: str
    done: str
    things: tuple[str, ...]


FLAGS: Mapping[str, Treatment] = {
    "pick_clean_then_place_in_recep": Treatment(
        "clean", "SinkBasin", "cleanable", "isClean", ("Bowl", "Fork", "Ladle", "Mug", "Pan", "Plate", "Tomato")
    ),
    "pick_heat_then_place_in_recep": Treatment(
        "heat", "Microwave", "heatable", "isHot", ("Apple", "Bread", "Egg", "Mug", "Potato", "Tomato")
    ),
    "pick_cool_then_place_in_recep": Treatment(
        "cool", "Fridge", "coolable", "isCool", ("Apple", "Bowl", "Bread", "Lettuce", "Pan", "Tomato")
    ),
}
APPLIANCES: tuple[str, ...] = ("SinkBasin", "Microwave", "Fridge")


@dataclass(frozen=True, slots=True)
class Room:
    """`holders` are kinds of places and how many there are; `goals` those that things are to be brought to."""

    number: int
    holders: Mapping[str, int]
    openable: frozenset[str]
    goals: tuple[str, ...]
    things: tuple[str, ...]
    lamp: bool = False

    def allows(self, kind: str) -> bool:
        if kind == "look_at_obj_in_light":
            return self.lamp
        return kind not in FLAGS or FLAGS[kind].appliance in self.holders

    def fitting(self, kind: str) -> list[str]:
        return [thing for thing in self.things if kind not in FLAGS or thing in FLAGS[kind].things]


ROOMS: tuple[Room, ...] = (
    Room(
        1,
        {"CounterTop": 2, "Cabinet": 2, "Drawer": 1, "Fridge": 1, "Microwave": 1, "SinkBasin": 1, "DiningTable": 1},
        frozenset({"Cabinet", "Drawer", "Fridge", "Microwave"}),
        ("Cabinet", "DiningTable", "CounterTop"),
        ("Apple", "Bowl", "Bread", "Egg", "Fork", "Ladle", "Lettuce", "Mug", "Pan", "Plate", "Potato", "Tomato"),
    ),
    Room(
        2,
        {"CounterTop": 1, "Cabinet": 3, "Shelf": 2, "Fridge": 1, "Microwave": 1, "SinkBasin": 1, "SideTable": 1},
        frozenset({"Cabinet", "Fridge", "Microwave"}),
        ("SideTable", "Shelf", "CounterTop"),
        ("Apple", "Bowl", "Bread", "Egg", "Ladle", "Lettuce", "Mug", "Pan", "Plate", "Potato", "Tomato"),
    ),
    Room(
        3,
        {"Bed": 1, "Desk": 1, "Drawer": 3, "Dresser": 1, "Shelf": 2},
        frozenset({"Drawer"}),
        ("Bed", "Dresser", "Shelf"),
        ("AlarmClock", "Book", "CD", "CellPhone", "KeyChain", "Pen", "Pencil", "Watch"),
        lamp=True,
    ),
    Room(
        4,
        {"ArmChair": 1, "CoffeeTable": 1, "Cabinet": 2, "SideTable": 2, "Sofa": 1},
        frozenset({"Cabinet"}),
        ("ArmChair", "CoffeeTable", "Sofa"),
        ("Book", "CreditCard", "KeyChain", "Laptop", "Newspaper", "RemoteControl", "Vase", "Watch"),
        lamp=True,
    ),
)


def problem(
    kind: str, room: Room, thing: str, place: str, holders: Mapping[str, str], things: Mapping[str, str]
) -> str:
    """The starting position and the goal; `holders` and `things` go from identifiers to kinds and to places."""
    kinds = sorted({name.partition("_bar_")[0] for name in things})
    # The rules speak of these by name, whether the room has them or not.
    types = sorted({*holders.values(), *APPLIANCES})
    objects = (
        "agent1 - agent", "start - location", *(f"at_{name} - location" for name in holders),
        *(f"{name} - receptacle" for name in holders), *(f"{name} - object" for name in things),
        *(f"{each}Type - otype" for each in kinds), *(f"{each}Type - rtype" for each in types),
    )  # fmt: skip
    facts = (
        "atLocation agent1 start",
        *(f"canContain {holder}Type {each}Type" for holder in types for each in kinds),
        *_places(room, holders),
        *_things(things),
    )
    lines = "\n".join(objects), "\n".join(f"({fact})" for fact in facts)
    return (
        f"(define (problem mini)\n(:domain alfred)\n(:objects\n{lines[0]}\n)\n(:init\n{lines[1]}\n)\n"
        f"(:goal {_goal(kind, thing, place)})\n)\n"
    )


def _places(room: Room, holders: Mapping[str, str]) -> Iterator[str]:
    for name, holder in holders.items():
        yield f"receptacleType {name} {holder}Type"
        yield f"receptacleAtLocation {name} at_{name}"
        if holder in room.openable:
            yield f"openable {name}"


def _things(things: Mapping[str, str]) -> Iterator[str]:
    for name, holder in things.items():
        kind = name.partition("_bar_")[0]
        yield f"objectType {name} {kind}Type"
        yield f"inReceptacle {name} {holder}"
        yield f"objectAtLocation {name} at_{holder}"
        yield f"{'toggleable' if kind == 'DeskLamp' else 'pickupable'} {name}"
        yield from (f"{flag.able} {name}" for flag in FLAGS.values() if kind in flag.things)


def _goal(kind: str, thing: str, place: str) -> str:
    if kind == "look_at_obj_in_light":
        lit = (
            "(exists (?l - object ?r - receptacle ?p - location ?a - agent) (and (objectType ?l DeskLampType) "
            "(isToggled ?l) (inReceptacle ?l ?r) (receptacleAtLocation ?r ?p) (atLocation ?a ?p)))"
        )
        held = f"(exists (?o - object ?a - agent) (and (objectType ?o {thing}Type) (holds ?a ?o)))"
        return f"(and {lit} {held})"
    there = f"(receptacleType ?r {place}Type) (objectType ?o {thing}Type) (inReceptacle ?o ?r)"
    if kind == "pick_two_obj_and_place":
        other = f"(objectType ?p {thing}Type) (inReceptacle ?p ?r) (not (= ?o ?p))"
        return f"(and (exists (?r - receptacle ?o - object ?p - object) (and {there} {other})))"
    state = f" ({FLAGS[kind].done} ?o)" if kind in FLAGS else ""
    return f"(and (exists (?r - receptacle ?o - object) (and {there}{state})))"
