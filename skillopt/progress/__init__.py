"""What a person sees of a run. Displays are readers of the journal: they hold no numbers of their own."""

from skillopt.progress.lines import Milestones
from skillopt.progress.summary import summary, summary_text
from skillopt.progress.watch import LiveDisplay, PlainLines, Watcher, pick_watcher

__all__ = ["LiveDisplay", "Milestones", "PlainLines", "Watcher", "pick_watcher", "summary", "summary_text"]
