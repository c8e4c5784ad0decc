"""A seccomp filter, made by hand: system calls that honest data scripts never use and escapes are made of.

Namespaces close the doors; this closes the ways to open new ones (mounts, namespaces, tracing, kernel keys, io_uring),
the memory that no limit counts (memfd, System V shared memory) and the sockets that no network namespace holds (vsock).
"""

from __future__ import annotations

import ctypes
import os
import struct

_PERMITTED, _REFUSED, _KILLED = 0x7FFF0000, 0x00050000, 0x80000000
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_NEW_NAMESPACE = 0x7E020080
_SOCKET_FAMILIES = (1, 2, 10)
"""Unix, and the two internet families, which the network namespace holds."""
_X32 = 0x40000000
_CLONE3 = 435
_SAME_EVERYWHERE = (425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 442, 443, 447, 467)
"""io_uring (3), open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, pidfd_getfd, mount_setattr, quotactl_fd,
memfd_secret, open_tree_attr."""

# Architecture word, clone, socket, and: ptrace, process_vm_readv, process_vm_writev, kcmp, mount, umount2, pivot_root,
# chroot, unshare, setns, memfd_create, shmget, shmctl, shmat, msgget, semget, mq_open, bpf, perf_event_open,
# userfaultfd, add_key, request_key, keyctl, name_to_handle_at, open_by_handle_at, init_module, delete_module,
# finit_module, kexec_load, kexec_file_load, swapon, swapoff, reboot, acct, syslog, settimeofday, clock_settime,
# adjtimex, clock_adjtime, quotactl, fanotify_init, lookup_dcookie, vhangup, move_pages, migrate_pages.
_MACHINES = {
    "x86_64": (0xC000003E, 56, 41, (
        101, 310, 311, 312, 165, 166, 155, 161, 272, 308, 319, 29, 31, 30, 68, 64, 240, 321, 298,
        323, 248, 249, 250, 303, 304, 175, 176, 313, 246, 320, 167, 168, 169, 163, 103, 164, 227,
        159, 305, 179, 300, 212, 153, 279, 256,
        154, 172, 173,  # modify_ldt, iopl, ioperm: this machine only
    )),
    "aarch64": (0xC00000B7, 220, 198, (
        117, 270, 271, 272, 40, 39, 41, 51, 97, 268, 279, 194, 195, 196, 186, 190, 180, 280, 241,
        282, 217, 218, 219, 264, 265, 105, 106, 273, 104, 294, 224, 225, 142, 89, 116, 170, 112,
        171, 266, 60, 262, 18, 58, 239, 238,
    )),
}  # fmt: skip


def known(machine: str) -> bool:
    return machine in _MACHINES


def program(machine: str) -> bytes:
    """The filter as the kernel reads it."""
    architecture, clone, socket, refused = _MACHINES[machine]
    steps = [_step(_LOAD, _ARCHITECTURE), _step(_EQUAL, architecture, 1, 0), _step(_RETURN, _KILLED)]
    steps += [_step(_LOAD, _NUMBER)]
    steps += [_step(_AT_LEAST, _X32, 0, 1), _step(_RETURN, _REFUSED | _ENOSYS)]
    # The C library then falls back to clone, whose flags can be read; those of clone3 lie behind a pointer.
    steps += [_step(_EQUAL, _CLONE3, 0, 1), _step(_RETURN, _REFUSED | _ENOSYS)]
    for number in (*refused, *_SAME_EVERYWHERE):
        steps += [_step(_EQUAL, number, 0, 1), _step(_RETURN, _REFUSED | _EPERM)]
    steps += [_step(_EQUAL, clone, 0, 3), _step(_LOAD, _FIRST_ARGUMENT), _step(_ANY_BIT, _NEW_NAMESPACE, 0, 1)]
    steps += [_step(_RETURN, _REFUSED | _EPERM), _step(_LOAD, _NUMBER)]
    steps += [_step(_EQUAL, socket, 0, len(_SOCKET_FAMILIES) + 2), _step(_LOAD, _FIRST_ARGUMENT)]
    for place, family in enumerate(_SOCKET_FAMILIES):
        steps += [_step(_EQUAL, family, len(_SOCKET_FAMILIES) - place, 0)]
    steps += [_step(_RETURN, _REFUSED | _EAFNOSUPPORT), _step(_RETURN, _PERMITTED)]
    return b"".join(steps)


def _step(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_so, if_not, value)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def forbid() -> None:
    """From here on, for this process and all it starts. Needs "no new privileges" to be set."""
    machine = os.uname().machine
    if not known(machine):
        return
    steps = program(machine)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(22, 2, ctypes.byref(_Program(len(steps) // 8, steps)), 0, 0):
        raise OSError(ctypes.get_errno(), "the system call filter was refused")
