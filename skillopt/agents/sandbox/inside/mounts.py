"""A root of our own, built by the first process where bubblewrap is absent.

The steps are bubblewrap's: a tmpfs becomes the root with the old one beneath it, so that sources stay reachable
whatever covers them; the new root is built from read-only binds; then the old one is let go.
"""

from __future__ import annotations

import ctypes
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .plan import Mount

_READ_ONLY, _NO_SETUID, _NO_DEVICES, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
_DETACH = 2
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_MOUNT_SETATTR = 442
_AT_RECURSIVE, _HERE = 0x8000, -100
_OLD, _NEW = "/old", "/new"
_FOR_FILES = _NO_SETUID | _NO_DEVICES


class _Attributes(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "namespace"))


def enter(mounts: Sequence[Mount], name: str) -> None:
    """Build the root from `mounts`, in their order, and go there; nothing else stays reachable."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.sethostname(name.encode(), len(name))
    _mount(libc, "none", "/", None, _RECURSIVE | _PRIVATE)
    _mount(libc, "tmpfs", "/tmp", "tmpfs", _FOR_FILES, "mode=0755,size=1m")
    os.mkdir("/tmp/old")
    os.mkdir("/tmp/new")
    os.chdir("/tmp")
    _pivot(libc, ".", "old")
    os.chdir("/")
    _mount(libc, "tmpfs", _NEW, "tmpfs", _FOR_FILES, "mode=0755,size=4m")
    for kind, source, destination, size in mounts:
        _make(libc, kind, source, _NEW + destination, size)
    for kind, _, destination, _ in mounts:
        if kind == "mask":
            _mount(libc, "none", _NEW + destination, None, _REMOUNT | _BIND | _READ_ONLY | _FOR_FILES)
    _mount(libc, "none", _NEW, None, _REMOUNT | _BIND | _READ_ONLY | _FOR_FILES)
    os.chdir(_NEW)
    # Stacking the old root upon the new one and letting go of it needs no folder for it.
    _pivot(libc, ".", ".")
    if libc.umount2(b".", _DETACH):
        raise OSError(ctypes.get_errno(), "the old root could not be let go")
    os.chdir("/")


def _make(libc: ctypes.CDLL, kind: str, source: str, place: str, size: int) -> None:
    if kind == "link":
        os.makedirs(os.path.dirname(place), exist_ok=True)
        os.symlink(source, place)
    elif kind in ("bind", "device"):
        _hold(place, folder=os.path.isdir(_OLD + source))
        _mount(libc, _OLD + source, place, None, _BIND | _RECURSIVE)
        _attributes(libc, place, _NO_SETUID if kind == "device" else _READ_ONLY | _FOR_FILES)
    else:
        _hold(place, folder=True)
        # Without a bound on their number, empty files would take memory that no size counts.
        options = f"mode=0777,size={size},nr_inodes=65536" if kind == "tmpfs" else "mode=0555,size=4k"
        if kind == "proc":
            _mount(libc, "proc", place, "proc", _FOR_FILES)
        else:
            _mount(libc, "tmpfs", place, "tmpfs", _FOR_FILES, options)


def _hold(place: str, *, folder: bool) -> None:
    """Something to mount upon."""
    if os.path.exists(place):
        return
    os.makedirs(place if folder else os.path.dirname(place), exist_ok=True)
    if not folder:
        os.close(os.open(place, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o444))


def _mount(libc: ctypes.CDLL, source: str, place: str, kind: str | None, flags: int, options: str = "") -> None:
    words = (os.fsencode(source), os.fsencode(place), kind.encode() if kind else None)
    if libc.mount(*words, ctypes.c_ulong(flags), options.encode() or None):
        error = ctypes.get_errno()
        raise OSError(error, f"mount at {place}: {os.strerror(error)}")


def _attributes(libc: ctypes.CDLL, place: str, flags: int) -> None:
    # Unlike a remount this reaches the mounts beneath too, and keeps flags that must not be cleared.
    wanted = _Attributes(flags, 0, 0, 0)
    size = ctypes.c_size_t(ctypes.sizeof(wanted))
    if libc.syscall(_MOUNT_SETATTR, _HERE, os.fsencode(place), _AT_RECURSIVE, ctypes.byref(wanted), size):
        error = ctypes.get_errno()
        raise OSError(error, f"mount_setattr at {place}: {os.strerror(error)} (needs Linux 5.12)")


def _pivot(libc: ctypes.CDLL, new: str, old: str) -> None:
    if libc.syscall(_PIVOT_ROOT[os.uname().machine], new.encode(), old.encode()):
        raise OSError(ctypes.get_errno(), "pivot_root was refused")
