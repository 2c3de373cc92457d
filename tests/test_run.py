import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ccassg.io.embeddings import read_embeddings
from ccassg.io.results import EMBEDDING, NODES
from ccassg.run import FILES, RUN, Run, read_run, save_run
from ccassg.scoring import page
from ccassg.systems import make
from saved_models import sealed


def test_what_was_saved_comes_back(saved):
    folder, data, z = saved
    run = read_run(folder)
    assert (run.source, run.dataset, run.notes, run.provenance) == ("mine.csv", None, ("hm",), {"seed": 3})
    assert (run.graph, run.class_names) == (data.graph.counts(), data.class_names)
    assert run.labels() == data.labels
    assert (read_embeddings(folder / EMBEDDING)[0] == z).all()
    assert [run.had_feature(name) for name in ("u", "v", "w", "x", "t#")] == [True, True, True, False, False]


def test_a_pipe_in_place_of_a_file_is_refused_at_once(saved, bounded):
    folder, *_ = saved
    for name, read in ((RUN, read_run), (NODES, lambda folder: Run(folder).labels()), (EMBEDDING, page)):
        whole = (folder / name).rename(folder / "whole")
        os.mkfifo(folder / name)
        bounded()
        with pytest.raises(ValueError, match=f"{name} is (not a regular file|missing, or not as this run wrote it)"):
            read(folder)
        whole.rename(folder / name)


def test_labels_that_would_fill_the_memory_are_refused(saved):
    folder, *_ = saved
    labels = pa.DictionaryArray.from_arrays(pa.array(np.zeros(500_000, np.int32)), ["x" * 1000])
    pq.write_table(pa.table({"id": np.arange(500_000), "label": labels}), folder / NODES)
    sealed(folder)
    with pytest.raises(ValueError, match=r"nodes\.parquet grows beyond"):
        page(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ([], "not an object"),
        ({"notes": "a"}, "notes is a str"),
        ({"class_names": [1]}, "class_names must hold text only"),
        ({"graph": 3}, "graph is a int"),
        ({"graph": {"features": [3]}}, "graph must hold whole numbers only"),
    ],
)
def test_a_forged_record_is_refused(saved, change, message):
    folder, *_ = saved
    record = json.loads((folder / RUN).read_text())
    (folder / RUN).write_text(json.dumps(record | change if isinstance(change, dict) else change))
    with pytest.raises(ValueError, match=rf"run\.json cannot be read: {message}"):
        read_run(folder)


def test_a_folder_without_a_run_says_how_to_make_one(tmp_path):
    with pytest.raises(ValueError, match=r"holds no run .* make one with: ccassg fit GRAPH -o"):
        read_run(tmp_path)


def test_a_run_of_mixed_files_is_refused(saved, tmp_path):
    """As a copy that was cut off leaves it, or an embedding of another model."""
    folder, data, z = saved
    save_run(tmp_path / "other", make("raw-features").fit(data), data, z + 1, source="other.csv", provenance={})
    whole = (folder / EMBEDDING).read_bytes()
    for content in ((tmp_path / "other" / EMBEDDING).read_bytes(), whole[:-9], None):
        (folder / EMBEDDING).unlink()
        if content is not None:
            (folder / EMBEDDING).write_bytes(content)
        with pytest.raises(ValueError, match=r"embedding\.parquet is missing, or not as this run wrote it; fit again"):
            page(folder)
        (folder / EMBEDDING).write_bytes(whole)
    assert (page(folder, 1).embedding == z).all()


def test_a_run_without_hashes_is_of_an_earlier_version(saved):
    folder, data, z = saved
    record = json.loads((folder / RUN).read_text())
    (folder / RUN).write_text(json.dumps({name: record[name] for name in record if name not in ("files", "sha256")}))
    with pytest.raises(ValueError, match=r"holds no run \(run\.json is damaged, altered or of an earlier version\)"):
        page(folder)
    with pytest.raises(ValueError, match="holds files that ccassg is not known to have written"):
        save_run(folder, make("raw-features").fit(data), data, z, source="", provenance={})


def test_only_files_of_a_run_are_written(saved):
    folder, *_ = saved
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
