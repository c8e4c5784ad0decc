"""A Ray cluster of two nodes on the loopback interface, for as long as standard input is open.

Prints the address and the second node's id; `kill` on standard input kills that node as a power cut would.
"""

from __future__ import annotations

import os
import sys

# Ray replaces a loopback address by the machine's own unless it takes itself to be on a desktop.
os.environ |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}

from ray.cluster_utils import Cluster

SMALL = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "object_store_memory": 80 * 2**20}

cluster = Cluster(initialize_head=True, head_node_args={**SMALL, "include_dashboard": False})
second = cluster.add_node(**SMALL)
print(cluster.address, second.node_id, flush=True)
for line in sys.stdin:
    if line.strip() == "kill":
        cluster.remove_node(second, allow_graceful=False)
        print("killed", flush=True)
cluster.shutdown()
