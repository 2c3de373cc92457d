"""The benchmark of several processes trains the same model on each number of them, and says what each process took."""

import numpy as np
import pytest
import typer

from studies.ranks import compare_ranks, draw, main


@pytest.mark.slow
def test_one_and_two_processes_agree_and_are_measured():
    lines = []
    result = compare_ranks((1, 2), n_nodes=2000, n_steps=2, say=lines.append)
    alone, together = result["rows"]
    np.testing.assert_allclose(alone["loss"], together["loss"], rtol=1e-4)
    assert len(alone["ranks"]) == 1
    assert len(together["ranks"]) == 2
    assert alone["ranks"][0]["bytes_per_step"] == 0
    # Three Grams of 128 x 128 floats at least.
    assert all(rank["bytes_per_step"] > 3 * 4 * 128**2 for rank in together["ranks"])
    assert all(rank["peak_memory"] > 1e7 for rank in together["ranks"])
    assert len(lines) == 2


def test_a_row_per_number_of_processes():
    rows = [
        {"processes": 1, "loss": [-2.0], "ranks": [{"peak_memory": 2e9, "bytes_per_step": 0}]},
        {"processes": 2, "loss": [-2.002], "ranks": [{"peak_memory": 1e9, "bytes_per_step": 5e6}] * 2},
    ]
    provenance = {
        "commit": {"id": "0123456789", "modified": True},
        "versions": {"torch": "2.13.0"},
        "machine": {"cpus": 2, "processor": "a processor", "threads": 2},
        "threads": 1,
    }
    text = draw(
        {"nodes": 5000, "stored_edges": 60000, "width": 128, "steps": 1, "rows": rows, "provenance": provenance}
    )
    assert "5,000 nodes, 60,000 stored edges" in text
    assert "Commit 0123456+; torch 2.13.0; 2 CPUs (a processor), 1 thread." in text
    second = next(line for line in text.splitlines() if " 1.00 " in line)
    assert [cell.strip() for cell in second.strip("|").split("|")] == ["2", "1.00", "5.0", "1.0e-03"]


@pytest.mark.parametrize("sizes", ["1,two", "0", ""])
def test_sizes_are_numbers_of_processes(sizes):
    with pytest.raises(typer.BadParameter, match="numbers of processes separated by commas"):
        main(sizes=sizes)
