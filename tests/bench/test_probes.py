"""The loop that the batched evaluation is timed against does the same evaluation."""

import torch

from ccassg.bench.probes import SETTINGS, compare_probes, textbook_probe
from ccassg.datasets import load_dataset
from ccassg.evaluate.probe import linear_probe


def test_the_textbook_loop_reaches_what_ours_reaches():
    data = load_dataset("cora")
    split = data.split(kind="public")
    z = data.graph.features.toarray()
    ours = linear_probe(z, data.y, split, epochs=100, **SETTINGS).accuracy
    loop = textbook_probe(torch.from_numpy(z), torch.from_numpy(data.y), split, seed=0, epochs=100)
    assert abs(loop - ours) < 0.03  # initial weights differ


def test_what_is_compared_is_said():
    before = torch.get_num_threads()
    made = compare_probes(rounds=1, threads=1, epochs=3)
    assert made["n_seeds"] == 20
    assert made["textbook_probes"] == made["seconds"] / made["textbook_seconds_each"]
    assert torch.get_num_threads() == before
