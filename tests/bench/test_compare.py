"""Contestants take turns, each in a process of its own."""

import pytest

from ccassg.bench import compare
from ccassg.model.presets import FAST, PRESETS


@pytest.mark.slow
def test_every_contestant_is_timed_and_compared_with_the_textbook():
    lines = []
    (row,) = compare.compare(["cora"], rounds=2, threads=1, device="cpu", say=lines.append, busy=1)
    for kind in ("textbook", "exact", "fast"):
        assert len(row[kind]["all_step_seconds"]) == 2
        assert row[kind]["ratio"] == pytest.approx(row["textbook"]["step_seconds"] / row[kind]["step_seconds"])
        steps = (PRESETS["cora"] | (FAST["cora"] if kind == "fast" else {}))["n_steps"]
        assert row[kind]["n_steps"] == steps
        assert row[kind]["fit_seconds"] > steps * row[kind]["step_seconds"]  # and the set-up
        assert row[kind]["busy_ratio"] == pytest.approx(row[kind]["busy_step_seconds"] / row[kind]["step_seconds"])
        assert row[kind]["peak_memory"] > 1e8
    assert row["exact"]["ratio"] > 1
    assert lines[0].startswith("cora")
    assert "times longer on a busy machine: textbook" in lines[0]


def test_growth_is_a_slope_of_logarithms(monkeypatch):
    class Contestant:
        """Steps in proportion to the nodes, memory to their square root."""

        def __init__(self, module):
            self.nodes, self.orders = None, orders

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def ask(self, order):
            self.nodes = order.get("nodes", self.nodes)
            self.orders.append(order)
            return {"seconds": [9.0, self.nodes * 1e-6], "peak_memory": self.nodes**0.5}

    lines, orders = [], []
    monkeypatch.setattr(compare, "Worker", Contestant)
    made = compare.growth((100, 1000, 10_000), threads=1, device="cpu", say=lines.append)
    assert made["time_exponent"] == pytest.approx(1)
    assert made["memory_exponent"] == pytest.approx(0.5)
    assert [row["nodes"] for row in made["rows"]] == [100, 1000, 10_000]
    assert len(lines) == 3
    orders.clear()
    compare.growth((100, 1000), threads=1, device="cpu", say=lines.append, kind="default")
    assert [order.get("steps", order.get("kind")) for order in orders] == ["default", 1] * 2  # nothing is warm
