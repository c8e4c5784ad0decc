"""House rules for every test: loopback is the only network, and where CI asks for all parts a skip is a failure."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("SKILLOPT_REQUIRE_ALL") == "1" and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, but SKILLOPT_REQUIRE_ALL=1 asks for all: {report.longrepr}"


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """A module that skips itself for a missing part counts like a test that does."""
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("SKILLOPT_REQUIRE_ALL") == "1":
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} was skipped, but SKILLOPT_REQUIRE_ALL=1 asks for all: {report.longrepr}"


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that reaches for another machine fails at once."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            host = address[0]  # type: ignore[index]
            assert host in ("127.0.0.1", "::1", "localhost"), f"a test tried to reach {host}"
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def shared_data() -> Path:
    """Real samples of the benchmarks, which lie beside the repository and are not part of it."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"the real samples are not on this machine ({folder})")
    return folder
