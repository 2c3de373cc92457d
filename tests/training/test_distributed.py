"""Two processes follow the loss of one; checkpoints fit any number of them; a lost one is noticed."""

import json
import multiprocessing
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
import torch.distributed as dist

from ccassg import CCASSG, as_graph
from ccassg.defaults import canonical
from ccassg.graph.partition import partition
from ccassg.io import hashes
from ccassg.io.embeddings import read_embeddings
from ccassg.io.manifest import part_bounds
from ccassg.io.store import open_store
from ccassg.io.storewriter import write_store
from ccassg.model.augment import edge_structure
from ccassg.model.encoder import gcn, mlp
from ccassg.model.loss import Objective
from ccassg.training import distributed
from ccassg.training.embedding import embed, embed_blocks
from ccassg.training.loop import train
from ccassg.training.settings import Settings
from ccassg.training.shards import make_shard
from ccassg.training.views import TwoWayEdges
from rank_threads import Meeting

N, F = 150, 20
ENCODERS = {
    "one layer": lambda: gcn((F, 8)),
    "two layers": lambda: gcn((F, 16, 8)),
    "three layers": lambda: gcn((F, 24, 16, 8)),
    "mlp": lambda: mlp((F, 16, 8)),
}


def graph_of(kind):
    pattern = sp.random(N, N, density=0.05, random_state=0)
    features = sp.random(N, F, density=0.3, random_state=1, format="csr")
    if kind == "weighted directed":
        return as_graph(pattern, features.toarray(), directed=True)
    return as_graph(pattern.astype(bool), features)


def settings(**changes):
    base = {
        "n_steps": 6,
        "learning_rate": 1e-2,
        "weight_decay": 0.0,
        "objective": Objective(1e-2),
        "edge_drop_rate": (0.3, 0.5),
        "feature_mask_rate": (0.2, 0.1),
    }
    return Settings(**(base | changes))


# Name: encoder, graph, changed settings.
RUNS = {
    "one layer": ("one layer", "undirected", {}),
    "two layers": ("two layers", "undirected", {}),
    "both directions": ("two layers", "undirected", {"drop_both_directions": True}),
    "weighted directed": ("three layers", "weighted directed", {}),
    "mlp": ("mlp", "undirected", {}),
    "batches": ("two layers", "undirected", {"batch_nodes": 60}),
    "batches of an mlp": ("mlp", "undirected", {"batch_nodes": 60}),
    "pairs": ("mlp", "undirected", {"neighbour_view": True}),
    "pairs with directions": ("mlp", "weighted directed", {"neighbour_view": True}),
    "batches of pairs": ("mlp", "undirected", {"neighbour_view": True, "batch_nodes": 60}),
}


def trace_of(name, graph=None, **options):
    encoder, kind, changes = RUNS[name]
    model = ENCODERS[encoder]()
    history = train(model, graph or graph_of(kind), settings(**changes), **options)
    # Batch norm takes the bias before it off again: its gradient is rounding, which Adam blows up.
    digest = [float(p.detach().double().abs().sum()) for p in model.weights]
    return {"loss": history["loss"], "weights": digest}


def test_what_torchrun_says_of_this_process(monkeypatch):
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert (distributed.speaks(), distributed.rank(), distributed.n_processes()) == (True, 0, 1)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert (distributed.speaks(), distributed.rank(), distributed.n_processes()) == (False, 1, 2)
    assert not distributed.is_shared()  # no session


@pytest.mark.parametrize(("threads", "local", "each"), [(8, 2, 4), (7, 3, 2), (1, 1, 1), (1, 2, 1)])
def test_processes_of_one_machine_share_its_threads(threads, local, each, monkeypatch):
    """As far as they get before they meet, which fails here."""

    def nobody(*_, **__):
        raise RuntimeError("nobody came")

    given = []
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", str(local))
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    monkeypatch.setattr(torch, "set_num_threads", given.append)
    monkeypatch.setattr(dist, "rendezvous", nobody)
    for said in (None, "3"):  # whoever says how many is obeyed
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        if said:
            monkeypatch.setenv("OMP_NUM_THREADS", said)
        with pytest.raises(distributed.LostRankError, match="nobody came"), distributed.session():
            pass
        assert given == [each]


@pytest.mark.parametrize("kind", ["undirected", "weighted directed"])
@pytest.mark.parametrize("size", [1, 3])
def test_aggregations_over_shards_are_those_of_the_whole_graph(kind, size):
    """Forward, backward and degrees, of three ranks that are threads."""
    graph, parts = graph_of(kind), np.random.default_rng(0).integers(size, size=N)
    chosen = {"seed": 1, "step": 2, "view": 0}
    whole, _ = TwoWayEdges(edge_structure(graph), weighted=graph.weights is not None).drop(0.4, **chosen)
    x, g = torch.rand(2, N, 3, dtype=torch.float64)
    dense = whole.to_dense().double()

    def rank_of(ranks):
        nodes, edges, exchange = make_shard(graph, parts, ranks, False)
        a, a_t = edges.drop(0.4, **chosen, total_sent=exchange.everywhere)
        n_own = len(nodes) - exchange.n_halo
        rows = torch.full((len(nodes), 3), torch.nan, dtype=torch.float64)
        rows[:n_own] = x[nodes[:n_own]]
        spread = exchange.spread(rows)
        assert spread is rows
        assert torch.equal(spread, x[nodes])
        forward = a.to_dense().double() @ spread
        back = exchange.collect(a_t.to_dense().double() @ g[nodes[:n_own]])
        return nodes[:n_own], forward, back, torch.tensor([exchange.n_halo])

    found = Meeting(size).run(rank_of)
    assert sorted(torch.cat([own for own, *_ in found]).tolist()) == list(range(N))
    for own, forward, back, n_halo in found:
        torch.testing.assert_close(forward, (dense @ x)[own], rtol=1e-6, atol=1e-7)
        torch.testing.assert_close(back, (dense.T @ g)[own], rtol=1e-6, atol=1e-7)
        assert (int(n_halo) > 0) == (size > 1)


@pytest.fixture
def one_rank():
    """This process as the only one of a group."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield distributed.Ranks()
    dist.destroy_process_group()


def test_what_is_shared_is_counted(one_rank):
    assert distributed.active() is None  # alone, nothing is to be shared
    assert (one_rank.rank, one_rank.size, one_rank.n_bytes) == (0, 1, 0)
    turned = torch.arange(6.0).view(2, 3).T
    assert one_rank.total(turned) is turned
    assert turned.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert one_rank.n_bytes == 24
    received = torch.zeros(2, 3)
    one_rank.swap(received, torch.ones(2, 3), [2], [2])
    assert received.tolist() == [[1, 1, 1]] * 2
    assert one_rank.n_bytes == 48
    assert one_rank.broadcast({"a": 1}) == {"a": 1}


@pytest.fixture
def rolls(monkeypatch):
    """Rolls of three processes that share a store, and answer and wait for fractions of a second."""
    for name in ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_USE_AGENT_STORE", "GROUP_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(distributed, "ASK_SECONDS", 0.02)
    monkeypatch.setattr(distributed, "LEAST_SECONDS", 0.5)
    monkeypatch.setattr(distributed, "MOST_SECONDS", 1.0)
    store = dist.HashStore()
    for rank in range(3):
        store.set(f"host {rank}", platform.node())  # each reads those of all
    made = [distributed._Roll(store, rank, 3, None) for rank in range(3)]
    yield made
    for roll in made:
        roll.close()


def test_a_roll_call_names_who_does_not_answer(rolls):
    rolls[2].close()
    assert rolls[0].call() == "rank 2 of 3 ended or stopped answering"
    assert rolls[0].called
    time.sleep(0.5)
    assert rolls[1].call() == "rank 2 of 3 ended or stopped answering"


def test_a_roll_call_names_all_who_do_not_answer(rolls):
    rolls[2].close()
    rolls[1].close()
    assert rolls[0].call() == "ranks 1, 2 of 3 ended or stopped answering"


def test_a_roll_call_that_all_answer_names_who_was_told_to_end(rolls):
    assert rolls[1].call(told=True) == "rank 1 of 3 was told to end"
    assert rolls[0].call(told=True) == "rank 1 of 3 was told to end"  # it was the first


def test_a_roll_call_that_all_answer_names_none(rolls):
    assert rolls[1].call() == "a process of this run ended or stopped answering"


def test_who_is_lost_is_named_with_the_machine_where_there_are_several(rolls, monkeypatch):
    roll = rolls[0]
    assert roll._named([0]) == "rank 0 of 3"
    assert roll._keeper() == "rank 0 of 3 ended or stopped answering"
    roll._hosts = ["a", "b", "b"]
    assert roll._named([1, 2]) == "ranks 1, 2 of 3 on b"
    assert roll._named([0, 2]) == "ranks 0, 2 of 3 on a, b"
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
    monkeypatch.setenv("MASTER_ADDR", "there")
    assert roll._keeper() == "a process of this run on there ended or stopped answering"
    roll._hosts = ["a", "a", "a"]
    assert roll._keeper() == "a process of this run ended or stopped answering"


def test_the_last_words_say_how_to_go_on(rolls, monkeypatch, tmp_path):
    for name in ("GROUP_WORLD_SIZE", "GLOO_SOCKET_IFNAME"):
        monkeypatch.delenv(name, raising=False)

    def words(checkpoint=None):
        if checkpoint is not None:
            rolls[0].checkpoint = checkpoint
            monkeypatch.setattr(distributed, "_roll", rolls[0])
        with pytest.raises(distributed.LostRankError) as raised, distributed._lost_ranks("by me"):
            raise RuntimeError("  one\ntwo")
        return str(raised.value)

    assert words() == (
        "a process of this run ended or stopped answering (noticed by me: one); the same command continues from the last "
        "checkpoint, if there is one, and torchrun --max-restarts does so by itself"
    )
    monkeypatch.setenv("GROUP_WORLD_SIZE", "2")
    assert "set GLOO_SOCKET_IFNAME=eth0" in words()
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "eth1")
    assert "GLOO_SOCKET_IFNAME" not in words()
    path = tmp_path / "c.safetensors"
    assert f"continues from the start, as {path} was not written yet, and" in words(path)
    path.write_text("")
    assert f"continues from {path}, and" in words(path)
    with (
        pytest.raises(distributed.LostRankError, match="noticed by me: RuntimeError"),
        distributed._lost_ranks("by me"),
    ):
        raise RuntimeError


def test_a_process_that_is_told_to_end_says_so_once(rolls):
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    noticed = pytest.raises(distributed.LostRankError, match=r"\(noticed by rank 1 of 3: SIGTERM\)")
    with noticed, distributed._told_to_end(rolls[1]):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)  # another thread may get it first
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    rolls[2].called = True
    with distributed._told_to_end(rolls[2]):
        os.kill(os.getpid(), signal.SIGTERM)  # its last words are on their way
        time.sleep(0.05)


def test_what_was_made_of_sigterm_before_stays(rolls):
    seen = []
    signal.signal(signal.SIGTERM, lambda *_: seen.append(1))
    try:
        with distributed._told_to_end(rolls[0]):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.05)
        assert seen == [1]
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    inside = []

    def elsewhere():
        with distributed._told_to_end(rolls[0]):  # a thread cannot set signals
            inside.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join(5)
    assert inside == [signal.SIG_DFL]


def test_torchrun_is_ended_where_its_store_does_not_answer(rolls, monkeypatch):
    registered, lost = [], threading.Event()
    monkeypatch.setattr(distributed.atexit, "register", lambda *given: registered.append(given))
    monkeypatch.setattr(distributed, "MOST_SECONDS", -0.9)  # it waits for a second more
    monkeypatch.setattr(rolls[0], "_ask", lambda *, told: lost.wait(5))
    assert rolls[0].call() == "rank 0 of 3 ended or stopped answering"
    assert registered == []
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "x")
    rolls[0].call()
    lost.set()
    assert registered == [(os.kill, os.getppid(), signal.SIGKILL)]


def test_torchrun_goes_on_where_its_store_answers(rolls, monkeypatch):
    registered = []
    monkeypatch.setattr(distributed.atexit, "register", lambda *given: registered.append(given))
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "x")
    assert rolls[1].call() == "a process of this run ended or stopped answering"
    assert registered == []


def work(rank, size, port, folder):
    """What each process does; results go to a file per rank."""
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    results = {}
    with distributed.session() as speaks:
        assert speaks == (rank == 0)
        for name in RUNS:
            results[name] = trace_of(name)
        results["store"] = trace_of("two layers", open_store(folder / "store").graph)
        results["resumed"] = trace_of("two layers", checkpoint_path=folder / f"one{rank}.safetensors")
        three = settings(n_steps=3)
        train(ENCODERS["two layers"](), graph_of(""), three, checkpoint_path=folder / f"two{rank}.safetensors")
        # Every process drew its own seed, as it does without random_state; the first one's counts.
        seeded = ENCODERS["two layers"]()
        results["own seeds"] = {"loss": train(seeded, graph_of(""), settings(seed=rank))["loss"]}
        for changes in ({"loss_nodes": 10}, {"augmentations": (lambda g, *_: g,)}):
            with pytest.raises(ValueError, match="single process only"):
                train(ENCODERS["two layers"](), graph_of(""), settings(**changes))
        for name, (encoder, graph) in embedded(folder).items():
            # As on machines of their own: none but the first knows the folder of the result.
            out = folder / f"{name}.npy" if speaks else folder / "elsewhere" / "z.npy"
            z = embed_blocks(encoder, graph, out, block=20, spill_from=1000)
            results[f"rows of {name}"] = z.shape
        results["canonical"] = CCASSG(random_state=rank).fit(graph_of("")).encoder_.directions.sum().item()
    (folder / f"rank{rank}.json").write_text(json.dumps(results))


def embedded(folder):
    """What is embedded: an encoder and a graph, by name."""
    graph = graph_of("")
    return {
        "gcn": (ENCODERS["three layers"](), graph_of("weighted directed")),
        "mlp": (ENCODERS["mlp"](), graph),
        "narrow features": (gcn((F, 30, 8)), as_graph(graph.adjacency(), graph.features.toarray())),
        "canonical": (canonical.fit(graph, (5, 6, 4))[0], graph),
        "without edges": (canonical.fit(as_graph(sp.csr_array((N, N)), graph.features), (5, 6, 0))[0], graph),
        "stored": (ENCODERS["two layers"](), open_store(folder / "store").graph),
    }


def own_copies(folder, rank):
    """Stores of which this process has copies of its own, in which what it need not read is destroyed."""
    return {name: folder / f"{name} of {rank}" for name in ("sparse", "dense")}


def read_own(rank, size, port, folder):
    """Fit and embed from an own copy of a store, in whose other part every byte of edges and features is wrong."""
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    hashes.BLOCK = 64
    results = {}
    with distributed.session() as speaks:
        for kind, path in own_copies(folder, rank).items():
            for encoder, given in {"gcn": {"n_steps": 3}, "canonical": {}}.items():
                whole = folder / kind if encoder == "canonical" and speaks else path  # the first solves for all
                graph = open_store(whole, verify=False).graph
                model = CCASSG(encoder=encoder, random_state=0, **given).fit(graph, checkpoint=folder / "c")
                z = model.transform(open_store(path, verify=False), out=folder / f"{kind} {encoder}.npy")
                results[f"{kind} {encoder}"] = z.shape
                if speaks:
                    model.save(folder / f"{kind} {encoder}")
                    (folder / "c").unlink(missing_ok=True)
        try:
            CCASSG(encoder="gcn", random_state=0).fit(open_store(own_copies(folder, 1 - rank)["dense"], verify=False))
        except ValueError as error:
            results["of another"] = str(error)
    (folder / f"own {rank}.json").write_text(json.dumps(results))


def die(rank, size, port, folder):
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))

    def on_step(step, terms, n_steps):
        if rank == 1 and step == 2:
            (folder / "died").write_text(str(time.time()))
            os._exit(9)

    try:
        with distributed.session():
            train(ENCODERS["two layers"](), graph_of(""), settings(n_steps=1000), on_step=on_step)
    except distributed.LostRankError as error:
        died = float((folder / "died").read_text())
        (folder / "noticed.json").write_text(json.dumps({"message": str(error), "after": time.time() - died}))


def die_embedding(rank, size, port, folder):
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    try:
        with distributed.session():
            if rank == 1:
                distributed.active()
                os._exit(9)
            embed_blocks(ENCODERS["two layers"](), graph_of(""), folder / "z.npy")
    except distributed.LostRankError as error:
        (folder / "noticed").write_text(str(error))


def spawn(target, size, folder):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=target, args=(rank, size, port, folder)) for rank in range(size)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(180)
        assert process.exitcode is not None, "a process hangs"
    return [process.exitcode for process in processes]


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """Results of two processes, and the folder they worked in."""
    folder = tmp_path_factory.mktemp("ranks")
    graph = graph_of("")
    write_store(folder / "store", graph, parts=partition(graph, 2))
    # A checkpoint written by one process, and seen by the first of two only.
    train(ENCODERS["two layers"](), graph, settings(n_steps=3), checkpoint_path=folder / "one0.safetensors")
    assert spawn(work, 2, folder) == [0, 0]
    return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in (0, 1)], folder


@pytest.mark.parametrize("name", RUNS)
def test_two_processes_follow_the_loss_of_one(together, name):
    (first, second), _ = together
    alone = trace_of(name)
    np.testing.assert_allclose(first[name]["loss"], alone["loss"], rtol=1e-4)
    np.testing.assert_allclose(first[name]["weights"], alone["weights"], rtol=1e-3)
    assert first[name] == second[name]  # bit for bit


def test_ranks_may_read_a_partitioned_store(together):
    (first, _), folder = together
    alone = trace_of("two layers", open_store(folder / "store").graph)
    np.testing.assert_allclose(first["store"]["loss"], alone["loss"], rtol=1e-4)


@pytest.mark.parametrize("name", ["gcn", "mlp", "narrow features", "canonical", "without edges", "stored"])
def test_two_processes_embed_into_one_file(together, name):
    (first, second), folder = together
    encoder, graph = embedded(folder)[name]
    z = np.load(folder / f"{name}.npy")
    np.testing.assert_allclose(z, embed(encoder, graph).numpy(), rtol=1e-4, atol=1e-5)
    assert first[f"rows of {name}"] == list(z.shape)
    assert second[f"rows of {name}"] == [0, z.shape[1]]
    assert not [*folder.glob(".ccassg*"), *folder.glob("tmp*"), *folder.glob("elsewhere")]


def test_directions_are_those_of_the_first_process(together):
    (first, second), _ = together
    assert first["canonical"] == second["canonical"]


def destroy(store, start, stop):
    """Turn round every bit of what a store holds of the edges and features of some nodes."""
    graph = open_store(store).graph
    sparse = sp.issparse(graph.features)
    rows = {"indices": (graph.indptr[start], graph.indptr[stop]), "features": (start, stop)}
    if sparse:
        ends = graph.features.indptr[start], graph.features.indptr[stop]
        rows |= {"features_indices": ends, "features_data": ends}
        del rows["features"]
    for name, (first, last) in rows.items():
        array = np.load(store / f"{name}.npy", mmap_mode="r+")
        whole = array.reshape(len(array), -1).view(np.uint8)
        # Those within a block of the own rows are checked with them.
        edge = -(-64 // whole.shape[1])
        first, last = first + edge * (first > 0), last - edge * (last < len(array))
        whole[first:last] ^= 255
        array.flush()


def test_each_process_reads_and_checks_nothing_but_its_part_of_a_store(tmp_path, monkeypatch):
    monkeypatch.setattr(hashes, "BLOCK", 64)
    for kind in ("sparse", "dense"):
        graph = graph_of("")
        graph = graph if kind == "sparse" else graph.with_features(graph.features.toarray())
        write_store(tmp_path / kind, graph, parts=partition(graph, 2))
        bounds = part_bounds(tmp_path / kind)
        for rank in (0, 1):
            copy = own_copies(tmp_path, rank)[kind]
            shutil.copytree(tmp_path / kind, copy)
            destroy(copy, *(bounds[1 - rank : 3 - rank]))
            with pytest.raises(ValueError, match="was altered"):
                open_store(copy, verify=True)
    assert spawn(read_own, 2, tmp_path) == [0, 0]
    results = [json.loads((tmp_path / f"own {rank}.json").read_text()) for rank in (0, 1)]
    for kind in ("sparse", "dense"):
        for encoder in ("gcn", "canonical"):
            name = f"{kind} {encoder}"
            graph = open_store(tmp_path / kind, verify=True).graph
            model, z = CCASSG.load(tmp_path / name), np.load(tmp_path / f"{name}.npy")
            np.testing.assert_allclose(z, model.transform(graph), rtol=1e-4, atol=1e-5)
            assert [each[name] for each in results] == [list(z.shape), [0, z.shape[1]]]
            if encoder == "gcn":
                alone = CCASSG(encoder="gcn", n_steps=3, random_state=0).fit(graph)
                np.testing.assert_allclose(model.history_["loss"], alone.history_["loss"], rtol=1e-4)
    assert all("was altered: its hash differs" in each["of another"] for each in results)


def test_checkpoints_continue_on_another_number_of_processes(together):
    (first, second), folder = together
    alone = trace_of("two layers")["loss"]
    np.testing.assert_allclose(first["resumed"]["loss"], alone, rtol=1e-4)
    assert first["resumed"] == second["resumed"]
    assert not (folder / "two1.safetensors").exists()
    resumed = trace_of("two layers", checkpoint_path=folder / "two0.safetensors")
    np.testing.assert_allclose(resumed["loss"], alone, rtol=1e-4)


def test_the_first_process_seed_counts(together):
    (first, second), _ = together
    assert first["own seeds"] == second["own seeds"]
    assert first["own seeds"]["loss"] == first["two layers"]["loss"]


def test_a_process_that_dies_is_noticed(tmp_path):
    assert spawn(die, 2, tmp_path) == [0, 9]
    noticed = json.loads((tmp_path / "noticed.json").read_text())
    assert "ended or stopped answering (noticed by rank 0 of 2" in noticed["message"]
    assert "--max-restarts" in noticed["message"]
    assert noticed["after"] < 60


def test_a_process_that_dies_while_all_embed_is_noticed(tmp_path):
    assert spawn(die_embedding, 2, tmp_path) == [0, 9]
    assert "ended or stopped answering (noticed by rank 0 of 2" in (tmp_path / "noticed").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["noticed"]


def test_a_plain_process_is_no_session(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with distributed.session() as speaks:
        assert speaks
        assert distributed.active() is None


SCRIPT = """
import os, sys
from pathlib import Path
import torch
torch.set_num_threads(1)
sys.path[:0] = [{tests!r}, os.path.dirname({tests!r})]
from test_distributed import ENCODERS, graph_of, settings
from ccassg.training import distributed
from ccassg.training.loop import train
folder = Path({folder!r})
with distributed.session() as speaks:
    def on_step(step, terms, n_steps):
        if os.environ["RANK"] == "1" and step == 4 and not (folder / "died").exists():
            (folder / "died").write_text("once")
            os._exit(9)
    history = train(ENCODERS["two layers"](), graph_of(""), settings(n_steps=8), checkpoint_path=folder / "c.safetensors",
                    checkpoint_every=2, on_step=on_step)
    if speaks:
        (folder / "loss.txt").write_text(" ".join(map(str, history["loss"])))
"""


@pytest.mark.slow
def test_torchrun_restarts_from_the_checkpoint(tmp_path):
    script = tmp_path / "run.py"
    script.write_text(SCRIPT.format(tests=str(Path(__file__).parent), folder=str(tmp_path)))
    command = [
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "2",
        "--standalone",
        "--max-restarts",
        "1",
        str(script),
    ]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "died").exists()
    losses = [float(x) for x in (tmp_path / "loss.txt").read_text().split()]
    alone = train(ENCODERS["two layers"](), graph_of(""), settings(n_steps=8))["loss"]
    np.testing.assert_allclose(losses, alone, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ["gcn", "canonical"])
def test_a_store_is_fitted_and_embedded_by_two_processes(encoder, tmp_path):
    write_store(tmp_path / "store", graph_of(""))
    together = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", "-m", "ccassg"]
    for command in (
        ["fit", "store", "-o", "m", "-s", f"encoder={encoder}", *(["-s", "n_steps=3"] if encoder == "gcn" else [])],
        ["embed", "m", "store", "-o", "z.npy"],
    ):
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            together + command, capture_output=True, text=True, timeout=200, env=environment, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr[-2000:]
        assert (done.stdout + done.stderr).count("wrote ") == 1  # the first process speaks for both
    expected = CCASSG.load(tmp_path / "m").transform(graph_of(""))
    np.testing.assert_allclose(np.load(tmp_path / "z.npy"), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(read_embeddings(tmp_path / "m" / "embedding.parquet")[0], expected, rtol=1e-4, atol=1e-5)
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith((".ccassg", "tmp"))]


# Kills a rank of four once training has a checkpoint; the rank is the first argument, the signal the second.
FIT = """
import os, signal, sys, threading, time
from pathlib import Path
folder = Path(sys.argv[3])
def watch():
    while not (folder / "m" / "checkpoint.safetensors").exists():
        time.sleep(0.05)
    time.sleep(0.3)
    os.kill(os.getpid(), int(sys.argv[2]))
if os.environ["RANK"] == sys.argv[1]:
    threading.Thread(target=watch, daemon=True).start()
from ccassg.cli import main
main(["fit", "cora", "-o", str(folder / "m"), "--checkpoint-every", "1",
      *(f"--set={x}" for x in ("n_steps=100000", "encoder=gcn", "hidden_dim=8", "embedding_dim=4"))])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "rank", "number", "said"),
    [
        (3, 2, signal.SIGKILL, "rank 2 of 3 ended or stopped answering"),
        (2, 0, signal.SIGKILL, "rank 0 of 2 ended or stopped answering"),
        (2, 1, signal.SIGTERM, "rank 1 of 2 was told to end"),
    ],
)
def test_the_last_words_name_the_rank_that_died_and_the_checkpoint(size, rank, number, said, tmp_path):
    (tmp_path / "run.py").write_text(FIT)
    command = ["-m", "torch.distributed.run", "--nproc-per-node", str(size), "--standalone", "--redirects", "3"]
    command += [
        "--log-dir",
        str(tmp_path / "logs"),
        str(tmp_path / "run.py"),
        str(rank),
        str(int(number)),
        str(tmp_path),
    ]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=200, env=environment)
    assert done.returncode != 0
    errors = {path.parent.name: path.read_text() for path in (tmp_path / "logs").rglob("stderr.log")}
    assert sorted(errors) == [str(each) for each in range(size)]
    for speaker, error in errors.items():
        if speaker != str(rank) or number == signal.SIGTERM:
            last = error.strip().splitlines()[-1]
            assert last.startswith(f"Error: {said} (noticed by rank {speaker} of {size}: "), errors
            assert f"the same command continues from {tmp_path}/m/checkpoint.safetensors, and torchrun" in last
            assert "Traceback" not in error
