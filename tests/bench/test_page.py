"""Tables and picture of the speed page come from the recorded figures alone."""

import pytest

from ccassg.bench.page import updated, write_page


def contestant(seconds, **more):
    return {"step_seconds": seconds, "peak_memory": 5e8, **more}


@pytest.fixture
def figures():
    return {
        "datasets": [
            {
                "dataset": "cora",
                "textbook": contestant(0.3, ratio=1.0),
                "exact": contestant(0.1, ratio=3.0),
                "fast": contestant(0.05, ratio=6.0),
            }
        ],
        "growth": {
            "rows": [{"nodes": n, "step_seconds": n * 1e-6, "peak_memory": 1e9} for n in (10_000, 100_000)],
            "time_exponent": 1.0,
            "memory_exponent": 0.5,
        },
        "probes": {"n_seeds": 20, "seconds": 9.0, "textbook_probes": 1.5},
        "provenance": {
            "commit": {"id": "0123456789", "modified": True},
            "versions": {"torch": "2.13.0"},
            "machine": {"cpus": 2, "processor": "a processor", "threads": 2},
            "threads": 2,
        },
    }


@pytest.fixture
def document(tmp_path):
    path = tmp_path / "speed.md"
    names = ("bench", "bench-busy", "bench-accuracy", "bench-growth")
    path.write_text("\n".join(f"<!-- begin: {name} -->\nold\n<!-- end: {name} -->" for name in names))
    return path


def test_blocks_hold_the_figures(figures, document):
    write_page(figures, document)
    text = document.read_text()
    assert "old" not in text
    row = next(line for line in text.splitlines() if line.startswith("| Cora"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == ["Cora", "300", "100", "3.0", "50.0", "6.0", "0.50", "0.50", "0.50"]
    assert "as long as 1.5 runs of the textbook's loop" in text
    assert "exponent 1.00, memory with 0.50" in text
    assert "With nothing named" not in text
    assert "Commit 0123456+; torch 2.13.0; 2 CPUs (a processor), 2 threads." in text
    assert (document.parent / "figures" / "speed.svg").stat().st_size > 5000


def test_the_default_has_a_series_of_its_own(figures, document):
    rows = [{"nodes": n, "step_seconds": n * 1e-4, "peak_memory": 2e9} for n in (10_000, 100_000)]
    figures["growth_default"] = {"rows": rows, "time_exponent": 1.0, "memory_exponent": 0.25}
    write_page(figures, document)
    text = document.read_text().partition("With nothing named")[2]
    assert [cell.strip() for cell in text.splitlines()[4].strip("|").split("|")] == ["10,000", "1.0", "2.00"]
    assert "exponent 1.00, memory with 0.25" in text


def test_a_busy_machine_and_whole_fits_have_tables(figures, document):
    (row,) = figures["datasets"]
    for kind, busy in (("textbook", 1.5), ("exact", 0.2), ("fast", 0.1)):
        row[kind] |= {"busy_step_seconds": busy, "busy_ratio": busy / row[kind]["step_seconds"]}
        row[kind] |= {"n_steps": 50, "fit_seconds": 10 * busy}
    reached = {"mean": 81.234, "error": 0.1, "n_seeds": 20}
    for kind in ("exact", "fast"):
        row[kind] |= {"val": reached, "test": reached}
    write_page(figures, document)
    lines = [line for line in document.read_text().splitlines() if line.startswith("| Cora")]
    _, busy, whole = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    assert busy == ["Cora", "300", "1500", "5.0", "100", "200", "2.0", "50", "100", "2.0"]
    assert whole == ["Cora", "50", "15.0", "50", "2.0", "50", "1.0", *["81.23 ± 0.10"] * 4]
    assert "over 20 seeds" in document.read_text()


def test_what_was_not_measured_may_be_missing(figures, document):
    del figures["growth"]
    write_page(figures, document)
    assert document.read_text().count("Not recorded.") == 3


def test_a_document_without_the_markers_is_refused(figures, tmp_path):
    (tmp_path / "other.md").write_text("nothing here")
    with pytest.raises(ValueError, match="begin: bench"):
        write_page(figures, tmp_path / "other.md")


def test_updating_keeps_the_other_rows():
    old = {"datasets": [{"dataset": "cora", "n": 1}, {"dataset": "photo", "n": 1}], "growth": {"rows": []}, "probes": 1}
    new = {"datasets": [{"dataset": "citeseer", "n": 2}, {"dataset": "photo", "n": 2}], "probes": 2}
    made = updated(old, new)
    assert [(row["dataset"], row["n"]) for row in made["datasets"]] == [("cora", 1), ("citeseer", 2), ("photo", 2)]
    assert made["growth"] == {"rows": []}
    assert made["probes"] == 2
