"""How long a run may take: of runs of the same cost, of the same system, on another dataset; in this order."""

import pytest

from ccassg.datasets import CARDS
from ccassg.experiments.estimates import UNKNOWN_SECONDS, Estimates
from ccassg.experiments.runs import classification_run


def taken(fake, run, seconds, day=1):
    return fake(run) | {"seconds": {"total": seconds}, "time": f"2026-01-{day:02}T00:00:00Z"}


def test_the_same_run_with_other_seeds_and_rates_the_last_three_of_them(fake):
    runs = [classification_run("cca-ssg", "photo", seed) for seed in range(5)]
    records = [
        taken(fake, run, seconds, day) for run, seconds, day in zip(runs, (900, 30, 10, 20), (1, 4, 3, 2), strict=False)
    ]
    records.append(taken(fake, classification_run("cca-ssg", "photo", 0, changes={"hidden_dim": 8}), 1, 9))
    estimates = Estimates(records)
    assert estimates.seconds(runs[4]) == 20
    assert estimates.seconds(classification_run("cca-ssg", "photo", 9, changes={"edge_drop_rate": 0.7})) == 20
    assert estimates.seconds(runs[4] | {"revision": 2}) == 20
    # Of settings that nobody tried, all of the system on the dataset tell.
    assert estimates.seconds(classification_run("cca-ssg", "photo", 0, changes={"hidden_dim": 9})) == 10


def test_another_dataset_by_size_the_nearest_one(fake):
    records = [
        taken(fake, classification_run("gcn", name, 0), seconds) for name, seconds in (("cora", 5), ("photo", 100))
    ]
    sizes = {name: CARDS[name].n_nodes + CARDS[name].n_edges for name in ("photo", "cs")}
    expected = 100 * sizes["cs"] / sizes["photo"]
    assert Estimates(records).seconds(classification_run("gcn", "cs", 0)) == pytest.approx(expected)


def test_what_nobody_ran_and_what_has_no_size_is_a_plain_guess(fake):
    estimates = Estimates([taken(fake, classification_run("gcn", "cora", 0), 5)])
    assert estimates.seconds(classification_run("gat", "cora", 0)) == UNKNOWN_SECONDS
    assert estimates.seconds(classification_run("gcn", "cora", 0) | {"dataset": "wordnet"}) == UNKNOWN_SECONDS
    # The default is another thing than a preset, though of one class.
    preset = Estimates([taken(fake, classification_run("cca-ssg", "cora", 0), 5)])
    assert preset.seconds(classification_run("default", "cora", 0)) == UNKNOWN_SECONDS
