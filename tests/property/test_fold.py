"""The fold is a function of the log: what was heard live, what is read again, and any split in between agree."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.journal.events import (
    Body,
    Decided,
    Event,
    Finished,
    Merged,
    MetaSkillWritten,
    NotesConsolidated,
    RateDecided,
    Reflected,
    Rewritten,
    RolloutDone,
    RunResumed,
    RunStarted,
    RunStopped,
    Selected,
    SlowUpdated,
    StageStarted,
)
from skillopt.journal.log import Journal
from skillopt.journal.view import RunView
from skillopt.types import (
    Decision,
    Edit,
    Failure,
    Patch,
    Reflection,
    Rollout,
    Score,
    StepDigest,
    Tally,
    Turn,
    Usage,
)

numbers = st.floats(0, 1) | st.none()
texts = st.text(max_size=20) | st.text(min_size=1, max_size=4).map(lambda t: t * 4097)
places = st.sampled_from(
    ["baseline", "e01s01", "e01s01b0", "e01s01b1", "e01s02", "e02s01", "slow/e02", "final", "test"]
)
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.just("$blob"), inner, max_size=3)
    ),
    max_leaves=5,
)
usages = st.builds(Usage, st.integers(0, 3), st.integers(0, 99), st.integers(0, 99))
tallies = st.builds(Tally, st.integers(0, 9), numbers, numbers)
patches = st.builds(Patch, st.lists(st.builds(Edit, content=texts), max_size=2).map(tuple), texts)
scores = st.builds(Score, st.floats(0, 1), st.floats(0, 1), st.dictionaries(st.text(max_size=5), json, max_size=2))


@st.composite
def rollouts(draw: st.DrawFn) -> Rollout:
    missing = draw(st.booleans())
    return Rollout(
        draw(st.text(max_size=5)), "d", draw(st.sampled_from(["s1", "s2"])), "val", "qa",
        None if missing else draw(scores), Failure("server", "500") if missing else None,
        draw(texts), (Turn("user", draw(texts)),), draw(usages),
    )  # fmt: skip


actions = st.sampled_from(
    ["baseline", "accept_new_best", "accept", "reject", "force_accept", "skip_no_patches", "final", "promote"]
)
memories = st.none() | st.builds(StepDigest, st.integers(1, 9), st.integers(1, 3), actions, st.just(2), st.just(1))
decisions = st.builds(
    Decision,
    places,
    actions,
    texts,
    st.just("p"),
    st.just("o"),
    numbers,
    st.none() | tallies,
    numbers,
    texts,
    memory=memories,
)
bodies: st.SearchStrategy[Body] = st.one_of(
    st.just(RunResumed()),
    st.builds(RunStopped, reason=texts),
    st.builds(StageStarted, at=places, stage=st.sampled_from(["rollout", "evaluate", "update"]), of=st.integers(0, 5)),
    st.builds(RolloutDone, at=places, stage=st.sampled_from(["train", "val", "test", "slow"]), rollout=rollouts()),
    st.builds(
        Reflected, at=places, index=st.integers(0, 3),
        reflection=st.builds(Reflection, st.just("failure"), st.just(("i",)), patches, usage=usages),
    ),
    st.builds(Merged, at=places, side=st.just("final"), level=st.just(0), patch=patches, fallback=st.none() | texts),
    st.builds(Selected, at=places, pool=patches, patch=patches, budget=st.none() | st.integers(0, 4)),
    st.builds(RateDecided, at=places, learning_rate=st.integers(0, 4), raw_learning_rate=json,
              available_update_items=st.integers(0, 4), error=st.none() | texts, usage=usages),
    st.builds(Rewritten, at=places, document=texts, lost=st.none() | texts, usage=usages),
    st.builds(NotesConsolidated, at=places, before=st.just(("a", "b")), after=st.tuples(texts)),
    st.builds(Decided, decision=decisions),
    st.builds(SlowUpdated, epoch=st.integers(1, 3), content=texts),
    st.builds(MetaSkillWritten, epoch=st.integers(1, 3), content=texts),
    st.builds(Finished, best_test=st.none() | tallies),
)  # fmt: skip
starts = st.builds(
    RunStarted, skillopt=st.just("0"), config=st.dictionaries(st.text(max_size=5), json, max_size=3),
    prompts=st.just({}), data=st.just({}), seed_skill=texts, plan=st.just({"steps_per_epoch": 2}),
)  # fmt: skip


async def live(directory: Path, rows: list[Body]) -> tuple[RunView, list[Event]]:
    view, heard = RunView(), []
    async with Journal.open(directory) as journal:
        journal.subscribe(view.apply)
        journal.subscribe(heard.append)
        await asyncio.gather(*(journal.append(str(i), body) for i, body in enumerate(rows)))
    return view, heard


@settings(max_examples=25, deadline=None)
@given(starts, st.lists(bodies, max_size=12), st.integers(0, 13))
def test_live_and_reread_folds_agree(start: RunStarted, rows: list[Body], cut: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        view, heard = asyncio.run(live(Path(name), [start, *rows]))
        events = list(Journal.read(Path(name)))
    assert events == heard
    assert vars(RunView.of(events)) == vars(view)
    resumed = RunView.of(events[:cut])
    for event in events[cut:]:
        resumed.apply(event)
    assert vars(resumed) == vars(view)
    assert resumed.steps == view.steps
