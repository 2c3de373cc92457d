"""The linear evaluation of twenty runs in one batch against the textbook's loop, one run after the other."""

import statistics
import time
from typing import Any

import numpy as np
import torch

from ccassg.datasets import CARDS, load_dataset
from ccassg.evaluate.probe import linear_probe

N_SEEDS = 20
EPOCHS = 2000
SETTINGS: dict[str, Any] = dict(CARDS["cora"].probe)


def textbook_probe(z: torch.Tensor, y: torch.Tensor, split: Any, *, epochs: int = EPOCHS) -> float:
    """Logistic regression as the paper's code has it: per epoch a step and the accuracies; the test accuracy chosen by validation."""
    torch.manual_seed(0)
    layer = torch.nn.Linear(z.shape[1], int(y.max()) + 1)
    optimizer = torch.optim.Adam(
        layer.parameters(), lr=SETTINGS["learning_rate"], weight_decay=SETTINGS["weight_decay"]
    )
    best, test = -1.0, 0.0
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(layer(z[split.train]), y[split.train])
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            accuracy = (layer(z[split.val]).argmax(1) == y[split.val]).float().mean().item()
            if accuracy > best:
                best, test = accuracy, (layer(z[split.test]).argmax(1) == y[split.test]).float().mean().item()
    return test


def compare_probes(*, rounds: int, threads: int) -> dict[str, Any]:
    """Median seconds of both on Cora's public split and an embedding of 512 random columns, taking turns."""
    data = load_dataset("cora")
    split = data.split(kind="public")
    z = np.random.default_rng(0).normal(size=(data.graph.n_nodes, 512)).astype(np.float32)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    ours, textbook = [], []
    try:
        for _ in range(rounds):
            start = time.perf_counter()
            linear_probe(z, data.y, split, seeds=range(N_SEEDS), epochs=EPOCHS, **SETTINGS)
            ours.append(time.perf_counter() - start)
            start = time.perf_counter()
            textbook_probe(torch.from_numpy(z), torch.from_numpy(data.y), split)
            textbook.append(time.perf_counter() - start)
    finally:
        torch.set_num_threads(before)
    seconds, one = statistics.median(ours), statistics.median(textbook)
    return {"n_seeds": N_SEEDS, "seconds": seconds, "textbook_seconds_each": one, "textbook_probes": seconds / one}
