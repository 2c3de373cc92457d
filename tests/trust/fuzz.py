"""Forged files for the readers of stores, models, runs, records, labels and checkpoints.

A forger knows the format: hashes are made to fit after the damage, so that what is behind them is reached. Every reader may
give a result or raise a ValueError; anything else is a finding. Memory and time are bounded by the system.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import resource
import shutil
import signal
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from safetensors.torch import load, save

from ccassg import CCASSG, as_graph
from ccassg.datasets.planetoid import unpickle
from ccassg.experiments import EXPERIMENTS, documents
from ccassg.experiments.records import Records, key_of
from ccassg.experiments.summary import summarize
from ccassg.graph import Dataset
from ccassg.io.folders import DECIDED, files_of
from ccassg.io.labels import encode_labels, read_labels
from ccassg.io.manifest import manifest_hash
from ccassg.io.results import read_labelled
from ccassg.io.store import open_store
from ccassg.io.storewriter import write_store
from ccassg.run import read_run, save_run
from ccassg.scoring import page
from ccassg.training import checkpoint

MEMORY, SECONDS = 2**30, 20
VALUES = (None, True, -1, 0, 2**70, 1e308, "", "x", "../x", [], {}, [[[]]], {"a": [1]}, float("nan"), [2**40, 2**40])
PIECES = (b"\x00", b"\xff" * 8, b"nan", b'"', b"[" * 50, b"{", b"9" * 40, b"\n", b",", b"\x80", b"e999")
SMALL = dataclasses.replace(EXPERIMENTS["citation"], datasets=("cora",), methods=("cca-ssg",), n_seeds=1)
PLAN = SMALL.plan()
# Whole files that `prepare` makes and that one file is enough of.
TEXTS = ("store/manifest.json", "model/config.json", "run.json", "a.jsonl", "labels.csv", "allx")
KINDS = ("store", "array", "model", "weights", "run", "record", "table", "label", "checkpoint", "pickle")


def prepare(folder: Path) -> None:
    """Whole files of every kind, in ``folder / "good"``."""
    good = folder / "good"
    good.mkdir()
    graph = as_graph(sp.random(12, 12, density=0.2, random_state=0), np.eye(12, 5))
    write_store(good / "store", graph)
    CCASSG(encoder="gcn", n_steps=2, hidden_dim=4, embedding_dim=3, random_state=0).fit(
        graph, checkpoint=good / "checkpoint.safetensors", checkpoint_every=1
    ).save(good / "model")
    (good / "run.json").write_text(json.dumps({"source": "x", "notes": ["a"], "graph": {"nodes": 3}, "dataset": None}))
    (good / "a.jsonl").write_text(json.dumps(_recorded()) + "\n")
    (good / "labels.csv").write_text("id,label\n0,a\n1,b\n2,\n")
    (good / "allx").write_bytes(_pickle())


def try_file(kind: str, folder: Path, rng: np.random.Generator) -> bool:
    """Forge one file and read it; whether it was taken. Whatever a reader raises but ValueError comes through."""
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    good = folder / "good"
    if kind in ("store", "array", "model", "weights"):
        shutil.copytree(good / ("store" if kind in ("store", "array") else "model"), work)
    else:
        work.mkdir()
    read = _FORGERS[kind](good, work, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            read()
        except ValueError as error:
            if str(error):
                return False
            raise AssertionError(f"{kind}: refused without a word") from error
    return True


def forge_runs(folder: str, n_runs: int, seed: int) -> dict[str, int]:
    """Forge so many run folders and read, page and write over them; how many were refused. Nothing outside may change."""
    signal.signal(signal.SIGALRM, _too_long)
    base, counts = Path(folder), {"taken": 0, "refused": 0}  # a refusal without a word is a KeyError
    graph = as_graph(
        sp.random(12, 12, density=0.2, random_state=0), np.eye(12, 5), node_ids=[f"n{i}" for i in range(12)]
    )
    data = Dataset(graph, np.arange(12) % 2)
    model = CCASSG(random_state=0).fit(data)
    save_run(base / "good", model, data, model.transform(data), source="x", provenance={})
    (base / "outside").mkdir()
    (base / "outside" / "thesis.txt").write_text("mine")
    for file in (base / "good").iterdir():
        shutil.copy(file, base / "outside")
    outside = _contents(base / "outside")
    for i in range(n_runs):
        rng, work = np.random.default_rng([seed, i]), base / "work"
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(base / "good", work)
        what = _forge_run(work, base / "outside", rng)
        theirs = _contents(work)
        # An index whose hash is right vouches for itself: one signed anew, or changed in its blanks alone.
        vouched = {theirs["run.json"]} if "run.json" in files_of(work) else set()
        signal.alarm(SECONDS)
        try:
            for act in (
                lambda work=work: page(work, 1),
                lambda work=work: read_labelled(work),
                lambda work=work: save_run(work, model, data, model.transform(data), source="y", provenance={}),
            ):
                try:
                    act()
                    counts["taken"] += 1
                except ValueError as error:
                    counts["refused" if str(error) else "without a word"] += 1
            ours = set(_contents(base / "good").values()) | vouched
            now = _contents(work)
            lost = [name for name, content in theirs.items() if now.get(name) != content and content not in ours]
            assert not lost, f"{lost} were replaced"
            assert _contents(base / "outside") == outside, "something outside was changed"
        except BaseException as error:
            raise AssertionError(f"run {i}, {what}, seed {seed}: {type(error).__name__}: {error}") from error
    signal.alarm(0)
    return counts


def _forge_run(work: Path, outside: Path, rng: np.random.Generator) -> str:
    """Change one thing of a run: an entry of run.json (its own hash made to fit or not), a file, or what was being moved in."""
    files = sorted(path.name for path in work.iterdir())
    name = files[rng.integers(len(files))]
    index, kind = work / "run.json", rng.integers(0, 7)
    if kind <= 2:
        record = twisted(json.loads(index.read_text()), rng)
        signed = kind > 0 and isinstance(record, dict)
        index.write_text(json.dumps(record | {"sha256": manifest_hash(record)} if signed else record))
        return "run.json twisted and signed" if signed else "run.json twisted"
    if kind == 3:
        (work / name).unlink()
        return f"{name} missing"
    if kind == 4:
        (work / name).unlink()
        (work / name).symlink_to(outside / (name if rng.random() < 0.5 else "thesis.txt"))
        return f"{name} a link"
    if kind == 5:
        (work / name).write_bytes(damaged((work / name).read_bytes(), rng))
        return f"{name} damaged"
    decided = work / DECIDED
    if rng.random() < 0.5:
        decided.symlink_to(outside)
    else:
        shutil.copytree(outside, decided)
        (decided / name).write_bytes(damaged((decided / name).read_bytes(), rng))
    return "something decided on"


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and not path.is_symlink()}


def campaign(folder: str, n_files: int, seed: int) -> dict[str, dict[str, int]]:
    """Try so many files of each kind, under limits of memory and time; how many were taken and refused."""
    signal.signal(signal.SIGALRM, _too_long)
    prepare(Path(folder))
    soft = _address_space() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (soft, soft))
    counts = {}
    for number, kind in enumerate(KINDS):
        rng = np.random.default_rng([seed, number])
        taken = 0
        for i in range(n_files):
            signal.alarm(SECONDS)
            try:
                taken += try_file(kind, Path(folder), rng)
            except BaseException as error:
                raise AssertionError(f"{kind}, seed {seed}, file {i}: {type(error).__name__}: {error}") from error
        counts[kind] = {"files": n_files, "taken": taken}
    signal.alarm(0)
    return counts


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes changed, cut or put in."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        at, length = int(rng.integers(0, len(data) + 1)), int(rng.integers(0, 9))
        choice = rng.integers(0, 4)
        if choice == 0 and at < len(data):
            data[at] = int(rng.integers(0, 256))
        elif choice == 1:
            del data[at : at + length]
        elif choice == 2:
            data[at:at] = PIECES[rng.integers(len(PIECES))]
        elif rng.random() < 0.2:
            del data[at:]
    return bytes(data)


def twisted(value, rng: np.random.Generator):
    """The same JSON with one value somewhere replaced, removed or of another type."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = list(value)[rng.integers(len(value))]
        if rng.random() < 0.15:
            return {k: v for k, v in value.items() if k != key}
        return value | {key: twisted(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.5:
        at = int(rng.integers(len(value)))
        return [*value[:at], twisted(value[at], rng), *value[at + 1 :]]
    return VALUES[rng.integers(len(VALUES))]


def _store(good, work, rng):
    manifest = twisted(json.loads((work / "manifest.json").read_text()), rng)
    if isinstance(manifest, dict):
        manifest["sha256"] = manifest_hash(manifest)
    (work / "manifest.json").write_text(json.dumps(manifest))
    return lambda: open_store(work)


def _array(good, work, rng):
    manifest = json.loads((work / "manifest.json").read_text())
    name = list(manifest["arrays"])[rng.integers(len(manifest["arrays"]))]
    content = damaged((work / f"{name}.npy").read_bytes(), rng)
    (work / f"{name}.npy").write_bytes(content)
    manifest["arrays"][name] |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest["sha256"] = manifest_hash(manifest)
    (work / "manifest.json").write_text(json.dumps(manifest))
    return lambda: open_store(work)


def _model(good, work, rng):
    config = work / "config.json"
    if rng.random() < 0.5:
        config.write_bytes(damaged(config.read_bytes(), rng))
    else:
        config.write_text(json.dumps(twisted(json.loads(config.read_text()), rng)))
    return lambda: CCASSG.load(work)


def _weights(good, work, rng):
    weights = damaged((work / "model.safetensors").read_bytes(), rng)
    config = json.loads((work / "config.json").read_text()) | {"weights_sha256": hashlib.sha256(weights).hexdigest()}
    (work / "model.safetensors").write_bytes(weights)
    (work / "config.json").write_text(json.dumps(config))
    return lambda: CCASSG.load(work)


def _run(good, work, rng):
    content = (good / "run.json").read_bytes()
    twist = rng.random() < 0.5
    made = json.dumps(twisted(json.loads(content), rng)).encode() if twist else damaged(content, rng)
    (work / "run.json").write_bytes(made)
    return lambda: read_run(work)


def _record(good, work, rng):
    (work / "a.jsonl").write_bytes(damaged((good / "a.jsonl").read_bytes(), rng))
    return lambda: list(Records(work))


def _table(good, work, rng):
    """A record with a value somewhere exchanged, drawn as `ccassg reproduce --draw-only` does."""
    (work / "a.jsonl").write_text(json.dumps(twisted(_recorded(), rng)) + "\n")

    def read():
        records = Records(work)
        documents.write("citation", SMALL, records, PLAN)
        with documents.readable("citation", records):
            summarize("citation", records.of(SMALL.runs(PLAN)))

    return read


def _recorded():
    """A whole record, as the worker makes it."""
    run = SMALL.runs(PLAN)[0]
    scores = {name: [0.8] for name in ("test_accuracy", "val_accuracy", "macro_f1")}
    return {
        "key": key_of(run),
        "run": run,
        "result": scores | {"probe_epoch": [3], "n_parameters": 5, "peak_memory_fit_bytes": 6},
        "seconds": {"fit": 1.0, "total": 2.0},
        "peak_memory_bytes": 7,
        "commit": {"id": "0123456789", "modified": False},
        "versions": {"torch": "2"},
        "machine": {"system": "Linux", "processor": "x", "cpus": 2, "threads": 1},
        "time": "2026-01-02T03:04:05Z",
    }


def _label(good, work, rng):
    (work / "labels.csv").write_bytes(damaged((good / "labels.csv").read_bytes(), rng))
    return lambda: encode_labels(read_labels(work / "labels.csv").labels)


def _checkpoint(good, work, rng):
    """Damage beyond the hash is not forged here: a checkpoint is the program's own file, and the hash finds the damage."""
    content = (good / "checkpoint.safetensors").read_bytes()
    (work / "c").write_bytes(damaged(content, rng))

    def read():
        loaded = checkpoint._read(work / "c")
        if loaded is None:
            raise ValueError("passed over")
        # What is taken must be what was saved, whatever happened to the bytes around it.
        assert save(dict(sorted(loaded[0].items()))) == save(dict(sorted(load(content).items())))

    return read


def _planetoid(good, work, rng):
    (work / "allx").write_bytes(damaged((good / "allx").read_bytes(), rng))
    return lambda: unpickle(work / "allx")


def _pickle() -> bytes:
    """A graph as Planetoid stores one."""
    import pickle

    return pickle.dumps({0: [1, 2], 1: [0], 2: [0]}, protocol=2)


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _too_long(*_):
    raise TimeoutError(f"a file took more than {SECONDS} s")


_FORGERS = dict(
    zip(
        KINDS,
        (_store, _array, _model, _weights, _run, _record, _table, _label, _checkpoint, _planetoid),
        strict=True,
    )
)
