# ruff: noqa: SIM105
"""Runs alone inside the box: carries connections from a port there to a socket that leads out, and starts the program.

The box has no network. This is the only way out of it, and it ends at the relay, which knows one model and no other.
"""

from __future__ import annotations

import os
import socket
import sys
import threading

_PIECE = 1 << 16


def pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while piece := source.recv(_PIECE):
            target.sendall(piece)
    except OSError:
        pass  # either end has gone
    try:
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # it has gone already


def serve(door: socket.socket, path: str) -> None:
    while True:
        inner, _ = door.accept()
        outer = socket.socket(socket.AF_UNIX)
        try:
            outer.connect(path)
        except OSError:
            inner.close()
            continue
        for pair in ((inner, outer), (outer, inner)):
            threading.Thread(target=pump, args=pair, daemon=True).start()


def main() -> None:
    port, path, argv = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    door = socket.socket()
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", port))
    door.listen(64)
    child = os.fork()
    if child == 0:
        try:
            os.execv(argv[0], argv)
        except OSError as error:
            os.write(2, f"{argv[0]} could not be started: {error}\n".encode())
            os._exit(127)
    threading.Thread(target=serve, args=(door, path), daemon=True).start()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
