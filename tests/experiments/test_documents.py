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


def test_findings_are_gathered_with_links_to_their_pages(tmp_path):
    document, folder = tmp_path / "d.md", tmp_path / "d"
    begin, end = "<!-- begin: findings -->", "<!-- end: findings -->"
    document.write_text(f"# Title\n{begin}\nold\n{end}\nrest\n")
    folder.mkdir()
    findings = "| the paper's claim | found here |\n| --- | --- |\n| It is small | confirmed |\n| I(Z\\|X) | so |\n"
    (folder / "b.md").write_text(f"# Size, time\n\n{findings}\n| another | table |\n| --- | --- |\n")
    (folder / "a.md").write_text("# No finding\n\n| another | table |\n| --- | --- |\n| no | finding |\n")
    for _ in range(2):
        renew_findings(document, ["b", "a", "without a page"])
        assert document.read_text() == (
            f"# Title\n{begin}\n\n| the paper's claim | found here | page |\n| --- | --- | --- |\n"
            "| It is small | confirmed | [Size, time](d/b.md) |\n| I(Z\\|X) | so | [Size, time](d/b.md) |\n\n"
            f"{end}\nrest\n"
        )


def test_an_experiment_is_drawn_on_its_page_and_its_first_table_on_the_overview(tmp_path, fake):
    experiment = EXPERIMENTS["lambda"]
    plan = experiment.plan(quick=True)
    records = Records(tmp_path / "results")
    for run in experiment.runs(plan):
        records.add(fake(run))
    document, page, other = (tmp_path / name for name in ("d.md", "d/lambda.md", "d/other.md"))
    page.parent.mkdir()
    document.write_text("<!-- begin: lambda table -->\n<!-- end: lambda table -->\n")
    page.write_text("# Lambda\n<!-- begin: lambda -->\n<!-- end: lambda -->\n")
    other.write_text("# Other\n")
    written = write("lambda", experiment, records, plan, document=document)
    assert {document, page} <= set(written.files)
    assert other not in written.files
    overview, whole = document.read_text(), page.read_text()
    assert "](../figures/lambda.svg)" in whole
    assert whole.index("| the paper's claim") < whole.index("| lambda") < whole.index("](../figures")
    assert "| lambda" in overview
    assert "figures" not in overview
    assert (tmp_path / "figures" / "lambda.svg").is_file()


def test_long_tables_are_folded(tmp_path, fake):
    experiment = EXPERIMENTS["information"]
    plan = experiment.plan(datasets=["cora"], n_seeds=1)
    records = Records(tmp_path)
    for run in experiment.runs(plan):
        records.add(fake(run))
    text = write("information", experiment, records, plan).markdown
    before, after = text.split("<details markdown>\n<summary>ends</summary>\n\n| dataset")
    assert "| dataset" in before
    assert "\n\n</details>\n" in after


def test_provenance_is_one_line_of_counts(fake):
    run = {"task": "training-cost", "dataset": "cora", "seed": 0}
    early, later = fake(run), fake(run) | {"time": "2026-01-07T00:00:00Z"}
    assert provenance_line([early | {"commit": None}]) == "1 run, 2026-01-02, no commits; torch 2.13.0; test"
    assert provenance_line([early]) == "1 run, 2026-01-02, commit 0123456; torch 2.13.0; test"
    assert provenance_line([later, early]) == "2 runs, 2026-01-02 to 07, commit 0123456; torch 2.13.0; test"
    changed = later | {"time": "2026-02-01T00:00:00Z", "commit": {"id": "fedcba9876543210", "modified": True}}
    unknown = early | {"commit": None, "machine": {"cpus": 8, "processor": "other"}}
    assert provenance_line([early, early, changed, unknown]) == (
        "4 runs, 2026-01-02 to 2026-02-01, 2 commits (1 with files changed); torch 2.13.0; other, test"
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
    assert [cell.strip() for cell in cora.strip("|").split("|")][:4] == [
        "Cora",
        "84.2 ± 0.4",
        "84.0 ± 1.4",
        "84.0 ± 1.4",
    ]
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


def test_what_has_no_records_any_more_is_not_shown(tmp_path):
    document = tmp_path / "reproduction.md"
    document.write_text("<!-- begin: citation -->\n\nof an earlier revision\n\n<!-- end: citation -->\n")
    experiment = EXPERIMENTS["citation"]
    assert write("citation", experiment, Records(tmp_path), experiment.plan(), document=document) is None
    assert document.read_text() == "<!-- begin: citation -->\n\nNot recorded.\n\n<!-- end: citation -->\n"
