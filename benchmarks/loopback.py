"""What the benchmarks share: a model server in a process of its own, and a configuration that points at it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skillopt import app
from skillopt.config.load import Loaded, Override

CONFIG = Path(__file__).parent.parent / "configs" / "searchqa" / "default.yaml"


@contextmanager
def server(split: Path, sizes: tuple[int, int, int], latency: float = 0.0) -> Iterator[str]:
    """The address of a loopback server whose world's items have been written to `split`."""
    command = [sys.executable, "-m", "skillopt.testing.server", "--seed", "1", "--latency", str(latency)]
    command += ["--write-split", str(split), "--sizes", *map(str, sizes)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def stats(url: str) -> dict[str, object]:
    with urllib.request.urlopen(url.replace("/v1", "/stats")) as answer:
        return json.load(answer)


def loaded(url: str, split: Path, out: Path, **settings: object) -> Loaded:
    given = {"env.split_dir": str(split), "env.out_root": str(out), "model.azure_openai_endpoint": url}
    given |= {key.replace("__", "."): value for key, value in settings.items()}
    return app.load(CONFIG, [Override(key, value, "benchmark") for key, value in given.items()])
