"""What one process of a cluster does for `run`: fits and embeds, and writes what it saw to a file named after its host.

torchrun ... tests/cluster/member.py GRAPH FOLDER STEPS

With no steps it takes the default, which trains nothing. Every host writes into a folder of its own.
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
    graph, folder, n_steps = sys.argv[1], Path(sys.argv[2]) / socket.gethostname(), int(sys.argv[3])
    folder.mkdir(exist_ok=True)
    marks: list[tuple[float, int]] = []

    def mark(*_: object) -> None:
        marks.append((time.perf_counter(), int(SENT.read_text())))

    start = bytes_read()
    # What is read of a store is compared with its hashes by the fit.
    data = open_store(graph, verify=False) if Path(graph).is_dir() else load_dataset(graph)
    model = CCASSG(random_state=0, **({"encoder": "gcn", "n_steps": n_steps} if n_steps else {}))
    with distributed.session():
        model.fit(data.graph, on_step=mark)
        fitted, seconds, sent = bytes_read(), time.process_time(), int(SENT.read_text())
        z = model.transform(data.graph, out=folder / "z.npy")
    found = {
        "rank": int(os.environ["RANK"]),
        "loss": model.history_["loss"],
        "step_seconds": [later[0] - earlier[0] for earlier, later in itertools.pairwise(marks)],
        "sent_per_step": (marks[-1][1] - marks[0][1]) / (len(marks) - 1) if n_steps else 0,
        "bytes_read": fitted - start,
        "embedding": {
            "rows_returned": len(z),
            "sent": int(SENT.read_text()) - sent,
            "bytes_read": bytes_read() - fitted,
            "processor_seconds": time.process_time() - seconds,
        },
    }
    model.save(folder / "model")
    (folder / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
