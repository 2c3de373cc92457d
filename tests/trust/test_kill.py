"""Killed at any moment: resumed to the same bits, nothing half-written taken for whole, no record lost or doubled."""

import json
import signal
import time

import numpy as np
import psutil
import pytest
from chores import SOAK, planned_runs

from ccassg.experiments.records import Records, key_of, read
from ccassg.training import checkpoint

RESULTS = ("model.safetensors", "embedding.parquet", "nodes.parquet")
STEPS = 40 if SOAK else 10


def fit(tables, folder, *more):
    settings = (f"n_steps={STEPS}", "encoder=gcn", "n_layers=2", "hidden_dim=16", "embedding_dim=8")
    return ("fit", *tables, "-o", folder, "--checkpoint-every", 1, *(x for s in settings for x in ("--set", s)), *more)


@pytest.fixture(scope="module")
def whole(nursery, tables, tmp_path_factory):
    """Results of the run that nobody interrupted, and the seconds it took."""
    folder = tmp_path_factory.mktemp("whole") / "model"
    nursery.run("--version")  # else the time is that of the nursery's imports, and most kills would come too late
    start = time.monotonic()
    ended = nursery.run(*fit(tables, folder))
    assert ended.code == 0, ended.err
    return folder, time.monotonic() - start


def check_whole(folder, expected):
    """Every file that has its final name is complete; the steps that the newest checkpoint holds."""
    steps = []
    for path in folder.iterdir() if folder.exists() else ():
        if path.name.startswith("checkpoint.safetensors"):
            loaded = checkpoint._read(path)
            assert loaded is not None, f"{path} is half-written"
            steps.append(len(loaded[0]["history.loss"]))
        elif path.name in RESULTS:
            assert path.read_bytes() == (expected / path.name).read_bytes()
        else:
            assert path.name in ("config.json", "README.md", "run.json") or path.name.startswith(".ccassg-")
    return max(steps, default=0)


def test_a_killed_fit_resumes_to_the_same_bits(nursery, tables, whole, tmp_path, scale, figure):
    expected, seconds = whole
    wanted, rng = scale(4, 50), np.random.default_rng(0)
    n_kills = n_runs = n_steps_kept = 0
    while n_kills < wanted:
        folder, kept = tmp_path / f"run{n_runs}", 0
        for _ in range(4):
            nursery.start(*fit(tables, folder))
            time.sleep(rng.uniform(0.05, 1.0) * seconds)
            nursery.signal(signal.SIGKILL)
            code = nursery.wait().code
            if code == 0:
                break
            assert code == -signal.SIGKILL
            n_kills += 1
            steps = check_whole(folder, expected)
            assert steps >= kept or (folder / "run.json").exists(), "finished steps were lost"
            if steps > 1:  # the one before is kept too, whatever happens to the newest
                assert checkpoint.previous(folder / "checkpoint.safetensors").exists()
            n_steps_kept, kept = n_steps_kept + steps, steps
        ended = nursery.run(*fit(tables, folder))
        assert ended.code == 0, ended.err
        for name in RESULTS:
            assert (folder / name).read_bytes() == (expected / name).read_bytes(), name
        one, other = (json.loads((f / "config.json").read_text())["history"] for f in (folder, expected))
        assert one == other
        assert not list(folder.glob("checkpoint*"))
        n_runs += 1
    figure("killed fits", kills=n_kills, runs=n_runs, steps_resumed=n_steps_kept, losses=0)


def test_a_kill_between_the_two_renames_of_a_checkpoint(nursery, tables, whole, tmp_path):
    """The only moment at which there is no newest checkpoint: the previous one takes over."""
    expected, _ = whole
    pid = nursery.start(*fit(tables, tmp_path / "again"))
    newest = tmp_path / "again" / "checkpoint.safetensors"
    while psutil.pid_exists(pid) and not checkpoint.previous(newest).exists():
        time.sleep(0.002)
    nursery.signal()
    nursery.wait()
    newest.unlink(missing_ok=True)
    assert nursery.run(*fit(tables, tmp_path / "again")).code == 0
    assert (tmp_path / "again" / RESULTS[1]).read_bytes() == (expected / RESULTS[1]).read_bytes()


def test_killed_runners_lose_and_double_nothing(nursery, tmp_path, scale, figure):
    wanted, rng, n_planned = scale(4, 50), np.random.default_rng(1), 40
    planned = {key_of(run) for run in planned_runs(n_planned)}
    n_kills = n_series = 0
    while n_kills < wanted:
        folder, before = tmp_path / f"series{n_series}", set()
        for _ in range(4):
            nursery.start_call("chores:record_runs", str(folder), n_planned, 0.01)
            time.sleep(rng.uniform(0.05, 0.6))
            nursery.signal()
            if nursery.wait().code == 0:
                break
            n_kills += 1
            now = {key_of(record["run"]) for record in Records(folder)}
            assert before <= now <= planned, "a record was lost"
            before = now
        n_left = n_planned - len(Records(folder))
        assert nursery.call("chores:record_runs", str(folder), n_planned, 0.0) == n_left
        lines = [record for path in sorted(folder.glob("*.jsonl")) for record in read(path)]
        assert sorted(record["key"] for record in lines) == sorted(planned)
        assert all(record["result"]["accuracy"] == int(record["key"][:8], 16) for record in lines)
        n_series += 1
    figure("killed runners", kills=n_kills, series=n_series, records=n_series * n_planned, lost=0, doubled=0)


def scores(records):
    """What a run found, without the memory and the time it took."""
    return {
        key_of(r["run"]): {name: value for name, value in r["result"].items() if "memory" not in name} for r in records
    }


def test_a_killed_reproduce_ends_as_if_it_was_not(nursery, tmp_path, scale, figure):
    """The whole command with its worker processes: one kill in ten with workers started anew, the others forked."""
    wanted, n_runs, rng = scale(3, 50), scale(4, 12), np.random.default_rng(2)
    command = ("citation", "--methods", "label-propagation", "--datasets", "cora", "--seeds", str(n_runs), "--results")
    start = time.monotonic()
    nursery.call("chores:reproduce", *command, str(tmp_path / "whole"))
    seconds = time.monotonic() - start
    expected = scores(Records(tmp_path / "whole"))
    assert len(expected) == n_runs
    n_kills = n_series = n_anew = n_records = 0
    while n_kills < wanted:
        folder, before = tmp_path / f"r{n_series}", set()
        for _ in range(8):
            anew = n_kills % 10 == 9
            if anew:
                pid = nursery.start("reproduce", *command, folder)
            else:
                pid = nursery.start_call("chores:reproduce", *command, str(folder))
            time.sleep(rng.uniform(0.05, 0.6) * seconds + 5 * anew)
            workers = psutil.Process(pid).children() if psutil.pid_exists(pid) else []
            nursery.signal()
            if nursery.wait().code == 0:
                break
            n_kills += 1
            n_anew += anew
            assert not psutil.wait_procs(workers, timeout=60)[1], "a worker outlived its caller"
            now = set(scores(Records(folder)))
            assert before <= now, "a record was lost"
            before = now
        n_records += len(before)
        nursery.call("chores:reproduce", *command, str(folder))
        assert scores(Records(folder)) == expected
        assert sum(len(read(path)) for path in folder.glob("*.jsonl")) == len(expected)
        n_series += 1
    figure("killed reproductions", kills=n_kills, workers_started_anew=n_anew, series=n_series,
           records_kept=n_records, lost=0, doubled=0)  # fmt: skip
