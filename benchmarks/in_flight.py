"""Are a thousand calls in flight really in flight? An evaluation of 1,000 items, 1,000 workers, one second of latency.

Wanted: the server sees 1,000 calls at once, and the whole takes little more than one second plus the work of sending.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from loopback import loaded, server, stats

from skillopt import app

N = 1_000


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        split, skill = Path(home) / "split", Path(home) / "skill.md"
        skill.write_text("# Skill\n")
        with server(split, (1, 1, N), latency=1.0) as url:
            config = loaded(url, split, Path(home) / "out", env__workers=N)
            began = time.perf_counter()
            asyncio.run(app.run_evaluation(config, environ={}, skill=skill, split="test"))
            seconds = time.perf_counter() - began
            print(f"{N} calls of 1 s: {stats(url)['max_in_flight']} at once, {seconds:.2f} s in all")


if __name__ == "__main__":
    main()
