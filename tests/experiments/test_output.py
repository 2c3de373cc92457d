from ccassg.experiments.output import provenance_line, replace_block


def test_only_the_named_block_is_replaced(tmp_path):
    document = tmp_path / "d.md"
    document.write_text("a\n<!-- begin: x -->\n1\n<!-- end: x -->\nb\n<!-- begin: y -->\n2\n<!-- end: y -->\n")
    assert replace_block(document, "x", r"\1 new")
    assert document.read_text() == (
        "a\n<!-- begin: x -->\n\n\\1 new\n<!-- end: x -->\nb\n<!-- begin: y -->\n2\n<!-- end: y -->\n"
    )
    assert not replace_block(document, "z", "new")


def test_provenance_names_commits_and_days(fake):
    run = {"task": "training-cost", "dataset": "cora", "seed": 0}
    late = fake(run) | {"time": "2026-02-01T00:00:00Z", "commit": {"id": "fedcba9876543210", "modified": True}}
    unknown = fake(run) | {"commit": None}
    assert provenance_line([fake(run), late, unknown]) == (
        "3 recorded runs, 2026-01-02 to 2026-02-01; commit 0123456, fedcba9+, none (ccassg 0.1.0); torch 2.13.0; "
        "2 CPUs (test)."
    )
