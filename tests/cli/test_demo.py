"""`ccassg demo` and `ccassg bench` on the embedded Cora, in small."""

import json


def test_demo(program, tmp_path, monkeypatch):
    from ccassg.model import presets

    monkeypatch.setitem(
        presets.PRESETS, "cora", presets.PRESETS["cora"] | {"n_steps": 4, "hidden_dim": 64, "embedding_dim": 32}
    )
    monkeypatch.chdir(tmp_path)
    code, out, err = program("demo", "--seeds", 2, "--json", "demo.json")
    assert code == 0, err
    assert "test accuracy" in out
    assert (tmp_path / "demo-report.html").stat().st_size < 8_000_000
    result = json.loads((tmp_path / "demo.json").read_text())
    assert len(result["accuracies"]) == 2
    assert min(result["accuracies"]) > 0.5
    default = result["default"]
    assert len(default["accuracies"]) == 2
    assert sum(map(sum, default["confusion"])) == sum(map(sum, result["confusion"])), "the same test nodes"
    line = f"scored alike: {100 * default['accuracy']:.1f} ± {100 * default['std']:.1f} %"
    assert line in " ".join(out.split())


def test_bench_takes_turns_and_reports_ratios(program, tmp_path):
    code, out, err = program(
        "bench", "--datasets", "cora", "--rounds", 1, "--threads", 1, "--no-growth", "--json", tmp_path / "b.json"
    )
    assert code == 0, err
    (row,) = json.loads((tmp_path / "b.json").read_text())["datasets"]
    for kind in ("textbook", "exact", "fast"):
        assert row[kind]["step_seconds"] > 0
        assert row[kind]["peak_memory"] > 1e7
    assert row["textbook"]["ratio"] == 1
    assert "cora" in out
