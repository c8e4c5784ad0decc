"""What a call costs, from a price table that is part of the installation. What the table does not know stays unknown.

The table (`genai-prices`) is asked once for each model of a run; it never goes to the network.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol
from urllib.parse import urlsplit

from skillopt.types import JSON, Usage

MILLION = 1_000_000


class Tariff(Protocol):
    """The prices of one model."""

    def cost(self, usage: Usage) -> float:
        """US dollars for what was used."""
        ...


@dataclass(frozen=True, slots=True)
class FlatTariff:
    """Prices that a person gave, in dollars for a million tokens."""

    input: float
    output: float

    def cost(self, usage: Usage) -> float:
        dollars = (usage.prompt_tokens * self.input + usage.completion_tokens * self.output) / MILLION
        return round(dollars, 9)


@dataclass(frozen=True, slots=True)
class TableTariff:
    """A row of the price table, with its tiers and its prices for cached tokens."""

    row: JSON
    context_window: int | None = None

    def cost(self, usage: Usage) -> float:
        from genai_prices import Usage as Counted

        counted = Counted(
            input_tokens=usage.prompt_tokens,
            output_tokens=usage.completion_tokens,
            cache_read_tokens=min(usage.cached_tokens, usage.prompt_tokens),
            cache_write_tokens=min(usage.cache_write_tokens, max(0, usage.prompt_tokens - usage.cached_tokens)),
        )
        total: Decimal = self.row.calc_price(counted)["total_price"]
        return round(float(total), 9)


def worst(tariff: Tariff, prompt_tokens: int, completion_tokens: int) -> float:
    """The most a call of this size can cost: a provider may read the prompt plainly or write it to its cache."""
    plain = Usage(1, prompt_tokens, completion_tokens)
    written = Usage(1, prompt_tokens, completion_tokens, cache_write_tokens=prompt_tokens)
    return max(tariff.cost(plain), tariff.cost(written))


def listed(model: str, base_url: str) -> TableTariff | None:
    """The table's prices of a model at this address, or None. A server of one's own has no list price."""
    if _is_own_server(base_url):
        return None
    try:
        from genai_prices import Usage as Counted
        from genai_prices import calc_price
    except ImportError:
        return None
    try:
        found = calc_price(Counted(input_tokens=1), model, provider_api_url=base_url)
    except LookupError:
        return None
    return TableTariff(found.model_price, found.model.context_window)


def _is_own_server(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost" or "." not in host or host.endswith((".local", ".internal", ".lan"))
