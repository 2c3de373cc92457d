import json

import pytest

from ccassg.experiments import EXPERIMENTS
from ccassg.experiments.documents import headline, provenance_line, renew_findings, replace_block, write
from ccassg.experiments.records import Records


def test_only_the_named_block_is_replaced(tmp_path):
    document = tmp_path / "d.md"
    document.write_text("a\n<!-- begin: x -->\n1\n<!-- end: x -->\nb\n<!-- begin: y -->\n2\n<!-- end: y -->\n")
    assert replace_block(document, "x", r"\1 new")
    assert document.read_text() == (
        "a\n<!-- begin: x -->\n\n\\1 new\n<!-- end: x -->\nb\n<!-- begin: y -->\n2\n<!-- end: y -->\n"
    )
    assert not replace_block(document, "z", "new")


def test_findings_are_gathered_with_links_to_their_sections(tmp_path):
    document = tmp_path / "d.md"
    begin, end = "<!-- begin: findings -->", "<!-- end: findings -->"
    rest = "## Size, time\n\n**Finding.** It is small: confirmed.\n\n## Few labels\n\ntext\n**Finding.** So: contradicted.\n"
    document.write_text(f"# Title\n{begin}\nold\n{end}\n{rest}")
    for _ in range(2):  # what was gathered is not gathered again
        renew_findings(document)
        assert document.read_text() == (
            f"# Title\n{begin}\n\n"
            "- It is small: confirmed. ([Size, time](#size-time))\n- So: contradicted. ([Few labels](#few-labels))\n\n"
            f"{end}\n{rest}"
        )


def test_provenance_names_commits_and_days(fake):
    run = {"task": "training-cost", "dataset": "cora", "seed": 0}
    late = fake(run) | {"time": "2026-02-01T00:00:00Z", "commit": {"id": "fedcba9876543210", "modified": True}}
    unknown = fake(run) | {"commit": None}
    assert provenance_line([fake(run), late, unknown]) == (
        "3 recorded runs, 2026-01-02 to 2026-02-01; commit 0123456, fedcba9+, none (ccassg 0.1.0); torch 2.13.0; "
        "2 CPUs (test)."
    )


@pytest.mark.parametrize(
    ("name", "part", "content"),
    [
        ("citation", "result", {}),
        ("citation", "result", {"test_accuracy": "high"}),
        ("citation", "result", {"test_accuracy": []}),
        ("citation", "commit", {}),
        ("citation", "versions", None),
        ("citation", "time", 7),
        ("collapse", "result", {"points": 1}),
        ("correlation", "result", {"matrix": {"shape": [2, 2], "zlib": "00"}}),
        ("information", "result", {"snapshots": [{}]}),
    ],
)
def test_a_record_that_a_table_cannot_use_is_told_in_a_sentence(tmp_path, fake, name, part, content):
    experiment = EXPERIMENTS[name]
    plan = experiment.plan(n_seeds=1)
    lines = [json.dumps(fake(run) | {part: content}) for run in experiment.runs(plan)]
    (tmp_path / "cora.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=rf"a record does not hold what {name} shows .*; remove its line"):
        write(name, experiment, Records(tmp_path), plan)


def test_accuracy_and_speed_of_what_is_recorded(tmp_path, fake):
    records = Records(tmp_path)
    assert headline(records) is None
    citation = EXPERIMENTS["citation"]
    for run in citation.runs(citation.plan(datasets=["cora"], n_seeds=2)):
        records.add(fake(run) | {"result": {"test_accuracy": [0.83 + 0.02 * run["seed"]]}})
    table = headline(records)
    assert "step" not in table
    cora, citeseer = table.splitlines()[2:4]
    assert [cell.strip() for cell in cora.strip("|").split("|")][:3] == ["Cora", "84.0 ± 1.4", "2"]
    assert "not recorded yet" in citeseer
    row = {"dataset": "cora", "exact": {"ratio": 3.04}, "fast": {"ratio": 5.0}}
    (tmp_path / "bench.json").write_text(json.dumps({"datasets": [row]}))
    cora = headline(records).splitlines()[2]
    assert [cell.strip() for cell in cora.strip("|").split("|")][4:] == ["3.0x", "5.0x"]


@pytest.mark.parametrize("name", ["tables/citation.csv", "tables/citation.md"])
def test_tables_of_somebody_else_stay(tmp_path, fake, name):
    experiment = EXPERIMENTS["citation"]
    plan = experiment.plan(datasets=["cora"], methods=["cca-ssg"], n_seeds=1)
    records = Records(tmp_path)
    for run in experiment.runs(plan):
        records.add(fake(run))
    (tmp_path / "tables").mkdir()
    (tmp_path / name).write_text("mine")
    with pytest.raises(ValueError, match=f"{name} is there already and is not known to be an earlier output"):
        write("citation", experiment, records, plan)
    assert [path.read_text() for path in (tmp_path / "tables").iterdir()] == ["mine"]
    (tmp_path / name).unlink()
    for _ in range(2):
        assert write("citation", experiment, records, plan) is not None
