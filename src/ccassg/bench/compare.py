"""Ours against the textbook, side by side: one run, contestants taking turns, each in a process of its own.

Turns are short, so load on the machine hits all alike; the figures to trust are ratios, not seconds.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from ccassg.model.presets import FAST, PRESETS
from ccassg.worker import Worker

CONTESTANT = "ccassg.bench.contestant"
KINDS = ("textbook", "exact", "fast")
GROWTH = (10_000, 30_000, 100_000, 300_000, 1_000_000)
# How long GNU's OpenMP lets threads spin where nobody chooses (`ccassg.waiting` does), and until they are asleep after a step.
PYTORCHS_WAITING = {"GOMP_SPINCOUNT": "300000"}
PAUSE = 0.05
Say = Callable[[str], None]


def compare(
    datasets: Sequence[str], *, rounds: int, threads: int, device: str, say: Say, busy: int = 0
) -> list[dict[str, Any]]:
    """Median step time, whole fit, peak memory and ratios on each dataset; ``say`` gets a line after each.

    In each of the ``rounds`` every contestant takes one step; one more round goes before as a warm-up. Then all again with so
    many cores ``busy`` with another process.
    """
    results = []
    for name in datasets:
        base = {"dataset": name, "threads": threads, "device": device}
        with ExitStack() as stack:
            workers, facts = {}, {}
            for kind in KINDS:  # one after the other: none is set up while another starts
                waiting = PYTORCHS_WAITING if kind == "textbook" else {}
                workers[kind] = stack.enter_context(Worker(CONTESTANT, environment=waiting))
                facts[kind] = workers[kind].ask(base | {"kind": kind})
            row = _summary(name, facts, _turns(workers, rounds, facts))
            for _ in range(busy):
                stack.enter_context(Worker("ccassg.bench.busy")).ask({})
            for kind, times in _turns(workers, rounds, facts).items() if busy else ():
                median = statistics.median(times)
                row[kind] |= {"busy_step_seconds": median, "busy_ratio": median / row[kind]["step_seconds"]}
        results.append(row)
        say(describe(row))
    return results


def _turns(workers: dict[str, Worker], rounds: int, facts: dict[str, dict[str, Any]]) -> dict[str, list[float]]:
    """Return the seconds of each contestant's steps, taken in turns; the memory they took goes into ``facts``."""
    times: dict[str, list[float]] = {kind: [] for kind in workers}
    for turn in range(rounds + 1):
        for kind, worker in workers.items():
            time.sleep(PAUSE)
            answer = worker.ask({"steps": 1})
            facts[kind]["peak_memory"] = answer["peak_memory"]
            if turn:  # the first turn warms caches, buffers and the allocator
                times[kind] += answer["seconds"]
    return times


def growth(sizes: Sequence[int], *, threads: int, device: str, say: Say, kind: str = "exact") -> dict[str, Any]:
    """Step time and memory on synthetic graphs of growing size and fixed degree, with their slopes in log-log.

    Of the kind "default" a step is all of it, from the graph to the embedding, and in a process that has done nothing before.
    """
    rows = []
    for nodes in sizes:
        job = {"kind": kind, "nodes": nodes, "threads": threads, "device": device}
        with Worker(CONTESTANT) as worker:
            worker.ask(job)
            answer = worker.ask({"steps": 1})
            if kind != "default":
                answer = worker.ask({"steps": 3})
        row = {"nodes": nodes, "step_seconds": min(answer["seconds"]), "peak_memory": answer["peak_memory"]}
        rows.append(row)
        what = "fit and embedding" if kind == "default" else "step"
        say(f"{nodes:>9,} nodes: {1e3 * row['step_seconds']:8.1f} ms per {what}, {row['peak_memory'] / 1e6:7.0f} MB")
    slopes = {"time_exponent": _slope(rows, "step_seconds"), "memory_exponent": _slope(rows, "peak_memory")}
    return {"rows": rows} | slopes


def describe(row: dict[str, Any]) -> str:
    """Put one dataset's figures into a line."""
    ours, fast = row["exact"], row["fast"]
    busy = [f"{kind} {row[kind]['busy_ratio']:.1f}" for kind in KINDS if "busy_ratio" in row[kind]]
    return (
        f"{row['dataset']:<10} textbook {1e3 * row['textbook']['step_seconds']:8.1f} ms; "
        f"exact {1e3 * ours['step_seconds']:7.1f} ms ({ours['ratio']:.1f}x); "
        f"fast {1e3 * fast['step_seconds']:7.1f} ms ({fast['ratio']:.1f}x); "
        f"memory {row['textbook']['peak_memory'] / 1e6:.0f}, {ours['peak_memory'] / 1e6:.0f}, {fast['peak_memory'] / 1e6:.0f} MB"
        + (f"; times longer on a busy machine: {', '.join(busy)}" if busy else "")
    )


def _summary(name: str, facts: dict[str, dict[str, Any]], times: dict[str, list[float]]) -> dict[str, Any]:
    medians = {kind: statistics.median(values) for kind, values in times.items()}
    row: dict[str, Any] = {"dataset": name}
    for kind in KINDS:
        n_steps = (PRESETS[name] | (FAST[name] if kind == "fast" else {}))["n_steps"]
        row[kind] = {
            "n_steps": n_steps,
            "step_seconds": medians[kind],
            "all_step_seconds": times[kind],
            # Set-up as measured, plus the preset's number of steps at the median: what a whole fit takes.
            "fit_seconds": facts[kind]["setup_seconds"] + n_steps * medians[kind],
            "peak_memory": facts[kind]["peak_memory"],
            "ratio": medians["textbook"] / medians[kind],
        }
    return row


def _slope(rows: list[dict[str, Any]], key: str) -> float:
    x = np.log([row["nodes"] for row in rows])
    y = np.log([row[key] for row in rows])
    return float(np.polyfit(x, y, 1)[0])
