"""Heat maps of accuracy: which rates are run, and what is said of the corner without augmentation."""

from ccassg.experiments.augmentation import EXPERIMENT, RATES
from ccassg.experiments.runs import OURS, classification_run
from fake_records import scored


def test_every_pair_of_rates_is_run():
    cells = EXPERIMENT.cells(EXPERIMENT.plan(datasets=["cora"], n_seeds=2))
    assert {name: len(EXPERIMENT.plan().seeds(name)) for name in ("pubmed", "cs")} == {"pubmed": 3, "cs": 1}
    assert list(cells) == [("cora", p_e, p_f) for p_e in RATES for p_f in RATES]
    changes = {
        "edge_drop_rate": 0.2,
        "feature_mask_rate": 0.5,
        "loss_nodes": 1024,
        "n_steps": 25,
        "learning_rate": 2e-3,
    }
    assert cells["cora", 0.2, 0.5] == [classification_run(OURS, "cora", seed, changes=changes) for seed in (0, 1)]


def test_a_quick_map_has_fewer_rates():
    cells = EXPERIMENT.cells(EXPERIMENT.plan(datasets=["citeseer", "physics"], quick=True))
    some, two = (0.0, 0.2, 0.4), (0.0, 0.4)
    expected = [("citeseer", p_e, p_f) for p_e in some for p_f in some]
    assert list(cells) == expected + [("physics", p_e, p_f) for p_e in two for p_f in two]
    assert {len(runs) for runs in cells.values()} == {1}


def test_mlp_encoder_has_one_row_of_edge_rates():
    runs = EXPERIMENT.runs(EXPERIMENT.plan(datasets=["cs"], n_seeds=1))
    assert {run["settings"]["edge_drop_rate"] for run in runs} == {0.0}
    assert len(runs) == 6


def test_the_best_the_worst_and_the_corner(tmp_path):
    found = {
        ("cora", 0.0, 0.0): scored(50, 52),
        ("cora", 0.0, 0.4): scored(70, 70),
        ("cora", 0.4, 0.0): scored(84, 86),
        ("cora", 0.4, 0.4): scored(80, 82),
        # The corner is half a point below the best: no more than a point.
        ("photo", 0.0, 0.0): scored(92.5),
        ("photo", 0.4, 0.4): scored(93),
        ("pubmed", 0.5, 0.3): scored(81),  # one cell is no map
    }
    drawn = EXPERIMENT.draw(found, EXPERIMENT.plan(), tmp_path)
    cora, photo = drawn.tables[""]
    assert cora == {
        "dataset": "Cora",
        "no augmentation": "51.0",
        "no augmentation (paper)": "50.2",
        "best": "85.0",
        "best at (p_e, p_f)": "0.4, 0",
        "the paper's (p_e, p_f)": "0.4, 0.1",
        "worst with both": "81.0",
    }
    assert (photo["dataset"], photo["best at (p_e, p_f)"]) == ("Photo", "0.4, 0.4")
    assert drawn.notes.startswith("Mean over 1 to 2 runs.")
    assert "Hatched cells were not run." in drawn.notes  # two of Photo's four
    assert [finding.found for finding in drawn.findings] == ["confirmed on Cora, contradicted on Photo"]
    assert drawn.figures == ("augmentation",)
    assert {path.name for path in tmp_path.iterdir()} == {"augmentation.svg", "augmentation.png"}


def test_a_whole_map_has_no_hatches_and_an_mlp_no_edges(tmp_path):
    found = {("cs", 0.0, p_f): scored(90 + 10 * p_f) for p_f in RATES}
    drawn = EXPERIMENT.draw(found, EXPERIMENT.plan(), tmp_path)
    (row,) = drawn.tables[""]
    assert "Hatched" not in drawn.notes
    assert (row["no augmentation"], row["best"], row["worst with both"]) == ("90.0", "95.0", "91.0")


def test_single_cells_are_not_drawn(tmp_path):
    found = {("cora", 0.4, 0.1): scored(84), ("pubmed", 0.5, 0.3): scored(81)}
    assert EXPERIMENT.draw(found, EXPERIMENT.plan(), tmp_path) is None
    assert not list(tmp_path.iterdir())
