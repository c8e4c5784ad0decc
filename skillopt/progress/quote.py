"""A quote as a small table."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from skillopt.model.quote import Quote, Range
from skillopt.progress.words import tokens


def quote_table(quote: Quote) -> Table:
    """Calls and tokens by stage, each as a range from "little happens" to "everything does"."""
    table = Table(title="What this run may ask for", title_justify="left", box=None, padding=(0, 2), pad_edge=False)
    table.add_column("stage")
    table.add_column("model")
    table.add_column("calls", justify="right")
    table.add_column("tokens", justify="right")
    for line in quote.lines:
        if line.calls.high:
            used = line.calls * (line.prompt + line.answer)
            table.add_row(line.stage, line.role, _whole(line.calls), _tokens(used))
    table.add_row(Text("in all", "bold"), "", Text(_whole(quote.calls), "bold"), Text(_tokens(quote.tokens), "bold"))
    return table


def quote_line(quote: Quote) -> str:
    """The quote in one sentence. Retries are not in it, and a cap in `budget` always holds."""
    cost = f"${quote.cost_usd.low:.2f} to ${quote.cost_usd.high:.2f}"
    if quote.unpriced:
        known = "" if len(quote.unpriced) == 2 else f"{cost} and "
        cost = f"{known}an unknown price for the {' and the '.join(quote.unpriced)} model"
    calls, minutes = _whole(quote.calls), f"{quote.minutes.low:.0f} to {quote.minutes.high:.0f}"
    return f"quote: {calls} calls, {_tokens(quote.tokens)} tokens, {cost}, {minutes} minutes"


def _whole(amount: Range) -> str:
    low, high = round(amount.low), round(amount.high)
    return f"{low}" if low == high else f"{low} to {high}"


def _tokens(amount: Range) -> str:
    return f"{tokens(round(amount.low))} to {tokens(round(amount.high))}"
