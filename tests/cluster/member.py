"""What one process of a cluster does for `run`: trains, and writes what it saw to a file named after its host.

torchrun ... tests/cluster/member.py GRAPH FOLDER STEPS
"""

from __future__ import annotations

import itertools
import json
import os
import socket
import sys
import time
from pathlib import Path

from ccassg import CCASSG, load_dataset, open_store
from ccassg.training import distributed

SENT = Path("/sys/class/net/eth0/statistics/tx_bytes")


def bytes_read() -> int:
    """Bytes this process has had the disk read, memory-mapped pages among them."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("read_bytes")).split()[1])


def main() -> None:
    graph, folder, n_steps = sys.argv[1].replace("HOST", socket.gethostname()), Path(sys.argv[2]), int(sys.argv[3])
    marks: list[tuple[float, int, int]] = []

    def mark(*_: object) -> None:
        marks.append((time.perf_counter(), int(SENT.read_text()), bytes_read()))

    before = bytes_read()
    # Hashes would read all of it.
    data = open_store(graph, verify=False) if Path(graph).is_dir() else load_dataset(graph)
    model = CCASSG(encoder="gcn", n_steps=n_steps, random_state=0)
    with distributed.session():
        model.fit(data.graph, on_step=mark)
    (folder / f"{socket.gethostname()}.json").write_text(
        json.dumps(
            {
                "step_seconds": [later[0] - earlier[0] for earlier, later in itertools.pairwise(marks)],
                "sent_per_step": (marks[-1][1] - marks[0][1]) / (len(marks) - 1),
                "bytes_read": marks[-1][2] - before,
                "loss": model.history_["loss"],
                "rank": os.environ["RANK"],
            }
        )
    )


if __name__ == "__main__":
    main()
