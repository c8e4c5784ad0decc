"""Giving up rights, for good: capabilities, the way back through set-uid programs, being looked into.

`settle` is for the first process, `confine` for the foreign program, between fork and exec.
"""

from __future__ import annotations

import ctypes
import os
import resource

from . import calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .plan import Plan

_SET_DEATH_SIGNAL, _SET_DUMPABLE, _DROP_BOUNDING, _NO_NEW_PRIVILEGES, _SUBREAPER = 1, 4, 24, 38, 36
_INTERRUPT, _KILL, _PIPE, _FILE_SIZE = 2, 9, 13, 25
_OWN = 2
"""Processes of ours that the kernel counts with the program's: the first one and, for ordinary users, `unshare`."""
_CAPABILITY_VERSION = 0x20080522


def _prctl(option: int, value: int) -> int:
    return ctypes.CDLL(None, use_errno=True).prctl(option, ctypes.c_ulong(value), 0, 0, 0)


def usual_signals() -> None:
    """As before the interpreter changed them. Through C, since Python's own module takes long to load."""
    libc = ctypes.CDLL(None)
    for number in (_INTERRUPT, _PIPE, _FILE_SIZE):
        libc.signal(number, None)


def settle(plan: Plan) -> None:
    """Become nobody in particular. The first process keeps its memory to itself and dies with its parent."""
    if not plan["isolated"]:
        if os.uname().sysname == "Linux":
            _prctl(_SUBREAPER, 1)
        return
    for capability in range(64):
        _prctl(_DROP_BOUNDING, capability)
    if plan["uid"]:
        os.setgroups([])
        os.setresgid(plan["uid"], plan["uid"], plan["uid"])
        os.setresuid(plan["uid"], plan["uid"], plan["uid"])
    _give_up_capabilities()
    if _prctl(_NO_NEW_PRIVILEGES, 1) or _prctl(_SET_DUMPABLE, 0) or _prctl(_SET_DEATH_SIGNAL, _KILL):
        raise OSError(ctypes.get_errno(), "prctl was refused")


def _give_up_capabilities() -> None:
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    nothing = (ctypes.c_uint32 * 6)()
    if ctypes.CDLL(None, use_errno=True).capset(header, nothing):
        raise OSError(ctypes.get_errno(), "capset was refused")


def confine(plan: Plan) -> None:
    """Bound what the foreign program may take, and which system calls it may use."""
    seconds = int(plan["seconds"]) + 2
    _limit(resource.RLIMIT_CPU, seconds, seconds + 1)
    _limit(resource.RLIMIT_AS, plan["memory"], plan["memory"])
    _limit(resource.RLIMIT_FSIZE, plan["disk"], plan["disk"])
    _limit(resource.RLIMIT_NOFILE, plan["files"], plan["files"])
    _limit(resource.RLIMIT_CORE, 0, 0)
    if plan["isolated"]:
        _limit(resource.RLIMIT_MEMLOCK, 1 << 16, 1 << 16)
        _limit(resource.RLIMIT_MSGQUEUE, 0, 0)
        if plan["processes"]:
            _limit(resource.RLIMIT_NPROC, plan["processes"] + _OWN, plan["processes"] + _OWN)
        calls.forbid()


def _limit(kind: int, soft: int, hard: int) -> None:
    most = resource.getrlimit(kind)[1]
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    resource.setrlimit(kind, (soft, hard))
