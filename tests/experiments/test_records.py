import base64
import json
import threading
import zlib

import numpy as np
import pytest

from ccassg.experiments.records import Records, append, key_of, pack, read, unpack


def record(seed, dataset="cora"):
    run = {"task": "none", "dataset": dataset, "seed": seed}
    return {"run": run, "result": {"test_accuracy": [0.5]}, "seconds": {"total": 1.0}}


def test_key_follows_the_content_not_the_order():
    assert key_of({"a": 1, "b": {"c": 2, "d": None}}) == key_of({"b": {"d": None, "c": 2}, "a": 1})
    assert key_of({"a": 1}) != key_of({"a": 2})
    assert key_of({"a": 1}) == key_of({"a": 1, "revision": 1}) != key_of({"a": 1, "revision": 2})
    with pytest.raises(ValueError, match="not JSON compliant"):
        key_of({"a": float("nan")})


def test_records_are_found_again(tmp_path):
    records = Records(tmp_path / "new")
    records.add(record(0))
    records.add(record(0, "pubmed"))
    again = Records(tmp_path / "new")
    assert len(again) == 2
    assert again.get({"seed": 0, "dataset": "cora", "task": "none"})["result"] == {"test_accuracy": [0.5]}
    assert again.get(record(1)["run"]) is None
    assert again.of([record(seed)["run"] for seed in (5, 0)]) == [again.get(record(0)["run"])]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["cora.jsonl", "pubmed.jsonl"]


@pytest.mark.parametrize("cut", [1, 2, 20])
def test_a_line_that_was_not_finished_is_ignored_and_then_cut_off(tmp_path, cut):
    path = tmp_path / "cora.jsonl"
    for seed in range(3):
        append(path, record(seed))
    path.write_bytes(path.read_bytes()[:-cut])
    assert [r["run"]["seed"] for r in read(path)] == [0, 1]
    append(path, record(2))
    append(path, record(3))
    assert [r["run"]["seed"] for r in read(path)] == [0, 1, 2, 3]
    assert [json.loads(line)["run"]["seed"] for line in path.read_text().splitlines()] == [0, 1, 2, 3]


def test_a_file_of_somebody_else_is_not_cut_off(tmp_path):
    path = tmp_path / "cora.jsonl"
    for mine in ('{"title": "my notes"}', "x", '{"key": 7}'):
        path.write_text(mine)
        with pytest.raises(ValueError, match=r"cora\.jsonl, line 1 is not the record of a run"):
            append(path, record(0))
        assert path.read_text() == mine


def test_a_broken_line_elsewhere_is_an_error_with_its_number(tmp_path):
    path = tmp_path / "cora.jsonl"
    append(path, record(0))
    path.write_text(path.read_text() + "<<<<<<< HEAD\n")
    append_more = path.read_text() + json.dumps(record(1)) + "\n"
    path.write_text(append_more)
    with pytest.raises(ValueError, match=r"cora\.jsonl, line 2 is not the record of a run"):
        Records(tmp_path)


@pytest.mark.parametrize(
    ("change", "lacks"),
    [
        ({"seconds": None}, "its 'seconds' is not an object"),
        ({"seconds": {}}, "its seconds have no total"),
        ({"seconds": {"total": "long"}}, "its seconds are not numbers"),
        ({"seconds": {"total": 1e308}}, "its seconds are not numbers"),
        ({"result": [0.5]}, "its 'result' is not an object"),
        ({"run": {"dataset": "cora", "seed": 0}}, "its run names no task"),
        ({"run": {"task": "none", "dataset": 7, "seed": 0}}, "its run names no dataset"),
    ],
)
def test_a_record_that_no_table_could_use_is_refused_in_a_sentence(tmp_path, change, lacks):
    (tmp_path / "cora.jsonl").write_text(json.dumps(record(0)) + "\n" + json.dumps(record(1) | change) + "\n")
    with pytest.raises(ValueError, match=rf"line 2 is not the record of a run \({lacks}\); remove that line"):
        Records(tmp_path)


@pytest.mark.parametrize("name", ["run", "result", "seconds"])
def test_a_record_that_lacks_a_part_is_refused_by_its_name(tmp_path, name):
    part = {key: value for key, value in record(0).items() if key != name}
    (tmp_path / "cora.jsonl").write_text(json.dumps(part) + "\n")
    with pytest.raises(ValueError, match=rf"line 1 is not the record of a run \(it has no '{name}'\)"):
        Records(tmp_path)


def test_the_same_run_is_recorded_once(tmp_path):
    path = tmp_path / "cora.jsonl"
    append(path, record(0))
    append(path, record(0) | {"result": {"test_accuracy": [0.9]}})
    assert [r["result"]["test_accuracy"] for r in read(path)] == [[0.5]]


def test_writers_do_not_mix_their_lines(tmp_path):
    path = tmp_path / "cora.jsonl"

    def write(first):
        for seed in range(first, first + 20):
            append(path, record(seed) | {"padding": "x" * 5000})

    writers = [threading.Thread(target=write, args=(10 * i,)) for i in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(r["run"]["seed"] for r in read(path)) == list(range(50))


def test_pictures_survive_packing():
    matrix = np.random.default_rng(0).random((7, 5))
    np.testing.assert_allclose(unpack(json.loads(json.dumps(pack(matrix)))), matrix, atol=1 / 509)


def test_a_picture_that_would_grow_without_bound_is_cut_off():
    bomb = base64.b85encode(zlib.compress(bytes(2**26), 9)).decode()
    with pytest.raises(ValueError, match="cannot reshape array of size 16777216"):
        unpack({"shape": [2**13, 2**13], "zlib": bomb})
