"""The process's connection to a Ray cluster. Ray has one for a whole process, so the runs of a process share it."""

from __future__ import annotations

import logging
import socket
import threading
from importlib.util import find_spec

from skillopt.errors import ConfigError

_PROBE_SECONDS = 5.0
_SCHEME = "ray://"


def check_installed() -> None:
    if find_spec("ray") is None:
        raise ConfigError('env.executor: ray needs Ray: pip install "skillopt[ray]" (here and on every node)')


def check_reachable(address: str) -> None:
    """Knock at the cluster's door: Ray itself would wait for minutes at a closed one."""
    host, _, port = address.removeprefix(_SCHEME).rpartition(":")
    if address in ("auto", ""):
        return
    if not host or not port.isdigit():
        raise ConfigError(
            f"ray.address: {address!r} is no address of a cluster; write auto, host:6379 or ray://host:10001"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PROBE_SECONDS).close()
    except OSError as error:
        raise ConfigError(unreachable(address, error.strerror or str(error))) from error


def unreachable(address: str, reason: str) -> str:
    return (
        f"ray.address: there is no Ray cluster at {address} ({reason}). Start one (ray start --head --port=6379), or "
        "correct the address. No model was called."
    )


class Connection:
    """Taken by every run that uses the cluster; the last one to leave ends it. A caller's own `ray.init` stays open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._ours = ""

    def take(self, address: str) -> None:
        """Connect, or join the connection there is. Blocks, so it belongs into a thread."""
        import ray

        with self._lock:
            if not ray.is_initialized():
                _connect(address)
                self._ours = address
            elif self._ours not in ("", address):
                raise ConfigError(
                    f"ray.address: another run of this process uses the cluster at {self._ours}, and Ray knows one "
                    f"cluster at a time; start the run on {address} in a process of its own"
                )
            self._users += 1

    def leave(self) -> None:
        import ray

        with self._lock:
            self._users -= 1
            if self._users == 0 and self._ours:
                self._ours = ""
                ray.shutdown()


def _connect(address: str) -> None:
    import ray

    check_reachable(address)
    try:
        # Ray warns that a thread cannot handle SIGTERM: here nothing should, the journal is safe at any moment.
        ray.init(address=address or "auto", namespace="skillopt", logging_level=logging.ERROR, log_to_driver=False)
    except Exception as error:
        # Ray raises ConnectionError, RuntimeError (other version), ValueError and what its client brings along.
        raise ConfigError(unreachable(address or "auto", " ".join(str(error).split()))) from error
