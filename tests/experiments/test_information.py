"""Entropies along training: what is estimated when, and what that says of the paper's propositions."""

import pytest

from ccassg import CCASSG
from ccassg.datasets import stochastic_block_graph
from ccassg.experiments import ablation
from ccassg.experiments.information import EXPERIMENT, STEPS, _agreement, _word, estimate_along_training
from ccassg.experiments.records import Records
from ccassg.experiments.runs import OURS, method_settings

WIDTHS = {"hidden_dim": 8, "embedding_dim": 8, "n_steps": 2}


def test_information_along_training():
    data = stochastic_block_graph(300, n_features=32, sparse_features=True)
    settings = method_settings(OURS, "cora") | WIDTHS
    run = {"task": "information", "dataset": "cora", "method": "cca-ssg", "seed": 0}
    run |= {"settings": settings, "steps": [0, 1, 3], "n_views": 2, "beta": 0.5, "given": ["node", "class"]}
    snapshots = estimate_along_training(run, data)["snapshots"]
    assert [s["step"] for s in snapshots] == [0, 1, 3]
    for s in snapshots:
        assert s["mutual_information"] == pytest.approx(s["entropy"] - s["conditional_entropy"])
        assert s["bottleneck"] == pytest.approx(0.5 * s["entropy"] - s["conditional_entropy"])
        assert s["class_information"] == pytest.approx(s["entropy"] - s["class_entropy"])
        assert s["class_information"] > 0
        assert s["loss"] == pytest.approx(s["invariance"] + 1e-3 * s["decorrelation"], rel=1e-4)
    # The loss of a snapshot is that of the step that follows it in one uninterrupted training.
    whole = CCASSG(**settings | {"n_steps": 4}, random_state=0).fit(data.graph).history_["loss"]
    assert [s["loss"] for s in snapshots] == [whole[0], whole[1], whole[3]]
    assert len({s["entropy"] for s in snapshots}) == 3


def test_every_objective_to_twice_the_papers_steps():
    cells = EXPERIMENT.cells(EXPERIMENT.plan(datasets=["citeseer", "pubmed"]))
    assert list(cells) == [(dataset, name) for dataset in ("citeseer", "pubmed") for name in ablation.VARIANTS]
    (run,) = cells["citeseer", "without invariance"]
    assert run["settings"] == method_settings(OURS, "citeseer") | {"invariance": 0.0}
    assert run["steps"] == [0, 1, 2, 5, 10, 15, 20, 30, 40]  # the paper's are 20
    assert cells["pubmed", "full"][0]["steps"] == list(STEPS)
    assert (run["task"], run["n_views"], run["beta"], run["seed"]) == ("information", 8, 0.5, 0)
    assert run["given"] == ["node", "class"]


def test_information_agrees_with_the_paper_on_made_up_records(tmp_path, fake):
    records = Records(tmp_path)
    for run in EXPERIMENT.runs(EXPERIMENT.plan(datasets=["cora"])):
        records.add(fake(run))
    plan = EXPERIMENT.plan()
    drawn = EXPERIMENT.draw(EXPERIMENT.found(records, plan), plan, tmp_path / "figures")
    rows = drawn.tables["agreement"]
    # In the made-up records all rises with the step but the decorrelation loss, which falls.
    assert {row["claim"]: row["full"] for row in rows} == {
        "Proposition 1": 1,
        "Proposition 2": 1,
        "Theorem 1, I(Z;X)": -1,
        "Theorem 1, I(Z;S|X)": 1,
        "Theorem 2": -1,
        "Corollary 1": 1,
        "Theorem 3, I(Z;T)": -1,
        "Theorem 3, H(Z|T)": 1,
    }
    assert list(rows[0]) == ["claim", "dataset", *ablation.VARIANTS]
    found = dict(drawn.findings)
    assert found["Proposition 1: the invariance loss and H(Z|X) fall together"] == "confirmed (1.00) on Cora"
    assert found["Theorem 2: IB_ssl rises as the loss falls"] == "contradicted (-1.00) on Cora"
    assert "cannot be measured" in next(words for claim, words in found.items() if claim.startswith("Corollary 2"))
    assert found["Under the full loss H(Z) ends above where a random encoder starts"] == "confirmed on Cora"
    assert drawn.tables["ends"][0]["H(Z)"] == "0 to 100"
    assert drawn.tables["ends"][0]["steps"] == 100
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"information.svg", "information.png"}


def test_agreement_is_of_ranks():
    snapshots = [{"a": a, "b": b, "flat": 1.0} for a, b in ((1, 1), (2, 100), (3, 10), (4, 1000))]
    # Ranks 1 2 3 4 against 1 3 2 4: 1 - 6 (1 + 1) / (4 (16 - 1)).
    assert _agreement(snapshots, "a", "b", 1) == 0.8
    assert _agreement(snapshots, "a", "b", -1) == -0.8
    assert _agreement(snapshots, "a", "flat", 1) is None


@pytest.mark.parametrize(
    ("agreement", "word"),
    [
        (0.8, "confirmed (0.80)"),
        (0.79, "confirmed only in part (0.79)"),
        (0.0, "confirmed only in part (0.00)"),
        (-0.1, "contradicted (-0.10)"),
    ],
)
def test_words_for_an_agreement(agreement, word):
    assert _word(agreement) == word
