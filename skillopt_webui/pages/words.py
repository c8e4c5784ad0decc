"""Numbers, times and states as the pages say them; a state always has a sign and a word, never a colour alone."""

from __future__ import annotations

from types import MappingProxyType

from skillopt.progress.words import tokens
from skillopt.types import Decision, Tally
from skillopt_webui.reading.ledger import Account, Attempt

SIGNS = MappingProxyType(
    {
        "running": "●", "starting": "○", "finished": "✓", "stopping": "■", "stopped": "■",
        "interrupted": "▲", "failed": "✗",
        "unreadable": "✗",
    }
)  # fmt: skip
STAGES = MappingProxyType(
    {
        "rollout": "Rollout", "reflect": "Reflect", "aggregate": "Merge", "select": "Select", "update": "Update",
        "evaluate": "Validate", "compare": "Compare", "slow_update": "Slow update", "meta_skill": "Meta skill",
        "test": "Test", "eval": "Evaluate",
    }
)  # fmt: skip
STEP_STAGES = ("rollout", "reflect", "aggregate", "select", "update", "evaluate")
_ACTIONS = MappingProxyType(
    {
        "baseline": ("○", "baseline"), "accept_new_best": ("▲", "accepted, new best"), "accept": ("▲", "accepted"),
        "reject": ("✗", "rejected"), "force_accept": ("▲", "applied"),
        "skip_no_patches": ("–", "skipped: no proposals"),
        "skip_no_change": ("–", "skipped: no change"), "skip_no_rewrite": ("–", "skipped: no rewrite"),
        "final": ("○", "final measurement"), "promote": ("▲", "promoted to best"),
    }
)  # fmt: skip
_USED_FOR = MappingProxyType(
    {"train": "training", "val": "validation", "test": "test", "slow": "slow update", "eval": "evaluation"}
)


def action(decision: Decision) -> tuple[str, str]:
    """Sign and words of a decision."""
    return _ACTIONS.get(decision.action, ("○", decision.action))


def kind_of(decision: Decision) -> str:
    """accepted, rejected, skipped or measured: what a mark's form and colour stand for."""
    if decision.action.startswith("skip"):
        return "skipped"
    if decision.action in ("baseline", "final"):
        return "measured"
    return "rejected" if decision.action == "reject" else "accepted"


def number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.2f}".replace("-", "−")


def money(value: float) -> str:
    if value == 0:
        return "$0"
    return f"${value:,.2f}" if value >= 0.1 else f"${value:.4f}"


def spent(account: Account) -> str:
    """Dollars where prices are known, tokens beside them; unknown prices are said, not counted as nothing."""
    if not account.calls:
        return "nothing yet"
    if account.unpriced >= account.calls:
        return f"{tokens(account.tokens)} tokens"
    return f"{money(account.cost_usd)}{' and more' if account.unpriced else ''}"


def ago(seconds: float) -> str:
    """How long ago, in one unit."""
    if seconds < 5:
        return "just now"
    for size, word in ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            n = int(seconds // size)
            return f"{n} {word}{'' if n == 1 else 's'} ago"
    return "just now"


def items_of(tally: Tally | None) -> str:
    if tally is None:
        return "not measured"
    missing = f", {tally.missing} without a result" if tally.missing else ""
    return f"{tally.n} item{'' if tally.n == 1 else 's'}{missing}"


def outcome(attempt: Attempt) -> tuple[str, str, str]:
    """Sign, class and words of one attempt."""
    score, failure = attempt.rollout.score, attempt.rollout.failure
    if failure is not None:
        return "?", "missing", f"no result ({failure.kind})"
    assert score is not None
    if score.hard >= 1.0:
        return "✓", "passed", "right"
    return ("◐", "partly", f"partly right ({score.hard:.2f})") if score.passed else ("✗", "wrong", "wrong")


def used_for(stage: str) -> str:
    return _USED_FOR.get(stage, stage)


def place_name(at: str, number: int | None = None) -> str:
    """`e02s01` as "step 3", `slow/e02` as "slow update, epoch 2"."""
    if number is not None:
        return f"step {number}"
    kind, _, epoch = at.partition("/e")
    if kind in ("slow", "meta") and epoch.isdigit():
        return f"{'slow update' if kind == 'slow' else 'meta skill'}, epoch {int(epoch)}"
    return {"baseline": "baseline", "final": "final measurement", "test": "test"}.get(at, at)


def full_tokens(n: int) -> str:
    return f"{n:,}".replace(",", "\u202f")
