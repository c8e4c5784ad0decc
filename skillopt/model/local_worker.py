"""The process that hosts a local model: it reads its order from stdin, says its address, and ends with its parent.

A process of its own isolates the run from crashes of native code, and gives the OpenMP runtime the one setting that
matters on a shared machine before it loads: threads that wait must not spin (ten times faster beside other work).
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module

WAIT = "OMP_WAIT_POLICY"


def main() -> None:
    if WAIT not in os.environ:
        environ = {**os.environ, WAIT: "passive"}
        os.execve(sys.executable, [sys.executable, "-m", "skillopt.model.local_worker"], environ)
    order = json.loads(sys.stdin.readline())
    xllamacpp = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = order["path"]
    params.n_parallel = order["slots"]
    params.n_ctx = order["context"] * order["slots"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = order["threads"]
    params.n_threads_http = order["connections"]
    params.api_keys = [order["key"]]
    params.cache_ram_mib = 0
    params.verbosity = -1
    server = xllamacpp.Server(params)
    sys.stdout.write(json.dumps({"address": server.listening_address}) + "\n")
    sys.stdout.flush()
    # Nobody reads on: whatever the runtime may print from here must not fill the pipe.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.stdin.read()
    # The native threads are not ours to join: leave without waiting for them.
    os._exit(0)


if __name__ == "__main__":
    main()
