"""What the ranking editor and the epoch-end writers answer."""

from __future__ import annotations

from skillopt.gradient.loose import Integers, Loose, Text


class Ranking(Loose):
    reasoning: Text = ""
    selected_indices: Integers


class Guidance(Loose):
    """An empty text is an answer ("nothing to say"); a missing one is not."""

    reasoning: Text = ""
    slow_update_content: Text


class Memory(Loose):
    reasoning: Text = ""
    meta_skill_content: Text
