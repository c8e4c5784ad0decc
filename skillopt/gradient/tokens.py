"""Token estimates without a tokenizer: four characters a token is close enough to keep a prompt inside its window."""

from __future__ import annotations

CHARACTERS_PER_TOKEN = 4


def estimate_tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)
