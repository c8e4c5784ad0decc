"""The first process of the box: settles in, lets the foreign program run, brings out what it left.

It speaks with the outside over its standard input, a socket that the foreign program never holds. When that socket
closes, the outside is gone and the box ends. Nothing it says is trusted outside: the foreign program has the same user.
"""

from __future__ import annotations

import marshal
import os
import select
import sys

from . import parcel, rights

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .plan import Plan

_SOCKET = 0
_TICK_MS = 100
_NOT_STARTED = 127
_KILL = 9


def main() -> None:
    try:
        plan = _plan()
        _settle(plan)
        work = os.fsencode(plan["work"])
        standard_input, seeded = _receive(work)
        known = {name: parcel.signature(os.path.join(work, name)) for name in seeded}
    except BaseException as error:  # noqa: BLE001 - whatever it was, the outside must hear of it
        _say(parcel.ERROR, f"{type(error).__name__}: {error}".encode()[: parcel.CHUNK_BYTES])
        os._exit(1)
    _say(parcel.BEGUN)
    child = os.fork()
    if child == 0:
        _become(plan, standard_input)
    status = _wait(child)
    _say(parcel.EXIT, str(status).encode())
    for kind, payload in parcel.pack(work, plan["disk"], known):
        _say(kind, payload)
    _say(parcel.END)
    os._exit(0)


def _plan() -> Plan:
    kind, payload = _hear()
    if kind != parcel.PLAN:
        raise ValueError("no plan was sent")
    return marshal.loads(payload)


def _settle(plan: Plan) -> None:
    if plan["isolated"] and os.getpid() != 1:
        raise RuntimeError("not the first process of a process namespace")
    if plan["mounts"]:
        from . import mounts

        mounts.enter(plan["mounts"], "box")
    os.umask(0o022)
    # A first process without a handler is deaf to the signals of the others.
    rights.usual_signals()
    rights.settle(plan)


def _receive(work: bytes) -> tuple[int, list[bytes]]:
    """Write the files that arrive. Returns the program's standard input and the names of the files."""
    standard_input = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    seeded: list[bytes] = []
    target = -1
    while True:
        kind, payload = _hear()
        if kind == parcel.CHUNK:
            _write(target, payload)
            continue
        if target not in (-1, standard_input):
            os.close(target)
            target = -1
        if kind == parcel.STDIN:
            standard_input = target = _nameless(work)
        elif kind == parcel.FOLDER:
            os.mkdir(os.path.join(work, payload))
        elif kind in (parcel.FILE, parcel.PROGRAM):
            mode = 0o755 if kind == parcel.PROGRAM else 0o644
            target = os.open(os.path.join(work, payload), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
            seeded.append(payload)
        elif kind == parcel.END:
            os.lseek(standard_input, 0, os.SEEK_SET)
            return standard_input, seeded


def _nameless(folder: bytes) -> int:
    path = os.path.join(folder, b".standard-input")
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    os.unlink(path)
    return handle


def _become(plan: Plan, standard_input: int) -> None:
    """Turn into the foreign program, with three open files and nothing else."""
    try:
        os.setsid()
        os.chdir(plan["work"])
        os.dup2(standard_input, 0)
        rights.confine(plan)
        os.closerange(3, 4096)
        os.execvpe(plan["argv"][0], plan["argv"], plan["environment"])
    except BaseException as error:  # noqa: BLE001 - the parent of this process must not run twice
        os.write(2, f"{plan['argv'][0]} could not be started: {error}\n".encode())
    os._exit(_NOT_STARTED)


def _wait(child: int) -> int:
    """The program's exit code, negative for a signal. Reaps whatever else is left to the first process."""
    poll = select.poll()
    poll.register(_SOCKET, select.POLLIN | select.POLLHUP)
    if sys.platform == "linux":
        poll.register(os.pidfd_open(child), select.POLLIN)
    while True:
        for handle, _ in poll.poll(_TICK_MS):
            if handle == _SOCKET:
                # Where this is not the first process, its end does not end the program.
                _end(child)
        found = -1
        while found:
            found, status = os.waitpid(-1, os.WNOHANG)
            if found == child:
                return os.waitstatus_to_exitcode(status)


def _end(child: int) -> None:
    for kill in (os.killpg, os.kill):
        try:
            kill(child, _KILL)
        except OSError:
            continue  # it has not made its group yet, or has ended
    os._exit(1)


def _write(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _say(kind: bytes, payload: bytes = b"") -> None:
    _write(_SOCKET, parcel.framed(kind, payload))


def _hear() -> tuple[bytes, bytes]:
    kind, length = parcel.header(_exactly(parcel.HEADER))
    return kind, _exactly(length)


def _exactly(count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = os.read(_SOCKET, count - len(data))
        if not more:
            os._exit(1)
        data += more
    return data
