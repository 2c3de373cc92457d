"""The loop that the batched evaluation is timed against does the same evaluation."""

import torch

from ccassg.bench import probes
from ccassg.bench.probes import SETTINGS, compare_probes, textbook_probe
from ccassg.datasets import load_dataset
from ccassg.evaluate.probe import linear_probe


def test_the_textbook_loop_reaches_what_ours_reaches():
    data = load_dataset("cora")
    split = data.split(kind="public")
    z = data.graph.features.toarray()
    ours = linear_probe(z, data.y, split, epochs=100, **SETTINGS).accuracy
    loop = textbook_probe(torch.from_numpy(z), torch.from_numpy(data.y), split, epochs=100)
    assert abs(loop - ours) < 0.03  # initial weights differ


def test_twenty_runs_at_once_are_counted_in_runs_of_the_loop(monkeypatch):
    clock, threads = [0.0], []

    def taking(*seconds):
        """Stand in for a probe: takes so long, one after the other."""
        durations = iter(seconds)

        def probe(*_, seeds=(0,), **__):
            clock[0] += next(durations)
            threads.append((len(seeds), torch.get_num_threads()))

        return probe

    monkeypatch.setattr(probes.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(probes, "linear_probe", taking(6.0, 100.0, 5.0))
    monkeypatch.setattr(probes, "textbook_probe", taking(2.0, 1.0, 50.0))
    before = torch.get_num_threads()
    made = compare_probes(rounds=3, threads=before + 1)
    assert made == {"n_seeds": 20, "seconds": 6.0, "textbook_seconds_each": 2.0, "textbook_probes": 3.0}
    assert threads == [(20, before + 1), (1, before + 1)] * 3  # in turns, both with the threads asked for
    assert torch.get_num_threads() == before
