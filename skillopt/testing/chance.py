"""Chance without state: a number in [0, 1) that depends on its parts alone, so that no order of events changes it."""

from __future__ import annotations

import hashlib


def chance(*parts: object) -> float:
    text = "\x1f".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") / 2**64
