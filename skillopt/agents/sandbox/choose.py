"""Choosing a sandbox, and proving that it holds before anything foreign runs in it."""

from __future__ import annotations

import asyncio
import logging
import platform
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Literal

from skillopt.agents.sandbox.base import Limits, Sandbox, SandboxError
from skillopt.agents.sandbox.bubblewrap import Bubblewrap
from skillopt.agents.sandbox.inside import calls
from skillopt.agents.sandbox.layout import Layout, layout
from skillopt.agents.sandbox.namespaces import Namespaces
from skillopt.agents.sandbox.plain import Plain
from skillopt.agents.sandbox.plans import Identity

Choice = Literal["auto", "bubblewrap", "namespaces", "none"]
_LOG = logging.getLogger(__name__)
_PROBE = Limits(seconds=20, memory_mb=1024, disk_mb=1)
_QUESTION = """
import os, sys
print(*(os.path.exists(path) for path in (sys.argv[1], "/etc/passwd", "/sys")))
if os.path.exists("/proc/self"):
    print(*(os.readlink(f"/proc/self/ns/{name}") for name in ("net", "pid", "ipc", "mnt")))
"""
_ADVICE = """\
Code written by a model must not run unprotected. Do one of these:
- install bubblewrap: apt install bubblewrap (Debian, Ubuntu), dnf install bubblewrap (Fedora, RHEL);
- let users make namespaces: sysctl -w kernel.unprivileged_userns_clone=1 (Debian), and on Ubuntu 24.04 or newer
  sysctl -w kernel.apparmor_restrict_unprivileged_userns=0;
- in a container, allow namespaces and mounts: docker run --security-opt seccomp=unconfined
  --security-opt apparmor=unconfined --security-opt systempaths=unconfined (as root also --cap-add SYS_ADMIN);
- or, if you trust the code or the machine is expendable, choose the sandbox "none"."""


def sandbox(choice: Choice = "auto") -> Sandbox:
    """The sandbox of that kind, tried out. `auto` takes the first that holds and never "none"."""
    if choice == "none":
        _LOG.warning("Code written by a model runs without a sandbox: it can read your files and use the network.")
        return Plain()
    refusals: list[str] = []
    for name, candidates in _KINDS.items():
        if choice not in ("auto", name):
            continue
        try:
            return _first_that_holds(candidates)
        except SandboxError as refusal:
            refusals.append(f"- {name}: {refusal}")
    raise SandboxError("\n".join(("No sandbox works on this machine.", *refusals, _ADVICE)))


def _bubblewraps() -> Iterator[Sandbox]:
    yield from (Bubblewrap.found(view, Identity.here()) for view in _views())


def _namespaces() -> Iterator[Sandbox]:
    yield from (Namespaces.found(view, Identity.here()) for view in _views())


_KINDS: dict[str, Callable[[], Iterator[Sandbox]]] = {"bubblewrap": _bubblewraps, "namespaces": _namespaces}


def _views() -> tuple[Layout, ...]:
    """With a fresh /proc, or without: in many containers the kernel refuses one."""
    if platform.system() != "Linux":
        raise SandboxError(f"needs Linux, and this is {platform.system()}")
    whole = layout()
    return whole, replace(whole, proc=False)


def _first_that_holds(candidates: Callable[[], Iterator[Sandbox]]) -> Sandbox:
    refusal = SandboxError("cannot be tried")
    for candidate in candidates():
        try:
            _prove(candidate)
        except SandboxError as error:
            refusal = error
            continue
        if not calls.known(platform.machine()):
            _LOG.warning("No system call filter for %s: memory outside limits is possible.", platform.machine())
        return candidate
    raise refusal


def _prove(candidate: Sandbox) -> None:
    """Run a small program in it and see that it sees nothing. In a thread, since a loop may be running here."""
    with tempfile.TemporaryDirectory(prefix="skillopt-probe-") as folder, ThreadPoolExecutor(1) as thread:
        home = str(Path(__file__).parent)
        argv = ("python", "-I", "-S", "-c", _QUESTION, home)
        ran = thread.submit(lambda: asyncio.run(candidate.run(argv, work=Path(folder), limits=_PROBE))).result()
    if not ran.ok:
        raise SandboxError(f"a first program failed in it: {ran.ended} {ran.code} {ran.stderr.strip()[-500:]}")
    words = ran.stdout.split()
    ours = {str(Path(f"/proc/self/ns/{name}").readlink()) for name in ("net", "pid", "ipc", "mnt")}
    if "True" in words or ours & set(words):
        raise SandboxError(f"it does not isolate: a program in it saw {ran.stdout.strip()!r}")
