"""Draws are functions of what they are for, uniform, and independent of each other."""

import numpy as np
import torch

from ccassg.graph import draws
from ccassg.graph.draws import shuffled


def test_draws_depend_on_seed_step_view_and_purpose_only():
    keys = torch.arange(50_000)
    base = {"seed": 1, "step": 2, "view": 0, "purpose": 0}
    first = draws.draw(keys, **base)
    assert torch.equal(first, draws.draw(keys, **base))
    shuffled = torch.randperm(50_000, generator=torch.Generator().manual_seed(0))
    assert torch.equal(draws.draw(keys[shuffled], **base), first[shuffled])
    for change in ({"seed": 2}, {"step": 3}, {"view": 1}, {"purpose": 1}):
        other = draws.draw(keys, **(base | change))
        # Independent uniforms: correlation of the order of 1/sqrt(n).
        correlation = np.corrcoef(first.double().numpy(), other.double().numpy())[0, 1]
        assert abs(correlation) < 5 / 50_000**0.5


def test_every_purpose_has_numbers_of_its_own():
    purposes = (draws.EDGES, draws.COLUMNS, draws.NODES, draws.ORDER, draws.PARTNERS)
    assert purposes == (0, 1, 2, 3, 4)  # others would change every result


def test_draws_are_uniform():
    numbers = draws.draw(torch.arange(100_000), seed=0, step=0, view=0, purpose=0).double().numpy()
    counts, _ = np.histogram(numbers, bins=20, range=(-(2.0**63), 2.0**63))
    chi2 = ((counts - 5000) ** 2 / 5000).sum()
    assert chi2 < 44  # 0.1 % quantile of chi-square with 19 degrees of freedom


def test_sample_nodes_is_a_sorted_uniform_subset():
    nodes = draws.sample_nodes(1000, 100, seed=0, step=0)
    assert nodes.unique().numel() == 100
    assert torch.equal(nodes, nodes.sort().values)
    counts = torch.zeros(50)
    for step in range(400):
        counts[draws.sample_nodes(50, 10, seed=0, step=step)] += 1
    assert abs(counts / 400 - 0.2).max() < 0.1


def test_the_order_is_a_permutation_and_depends_on_seed_and_epoch():
    orders = {}
    for n in (1, 2, 3, 17, 1000):
        for seed, epoch in ((0, 0), (0, 1), (1, 0)):
            order = shuffled(torch.arange(n), n, seed=seed, epoch=epoch)
            assert sorted(order.tolist()) == list(range(n))
            orders[n, seed, epoch] = order
    assert not torch.equal(orders[1000, 0, 0], orders[1000, 0, 1])
    assert not torch.equal(orders[1000, 0, 0], orders[1000, 1, 0])
    # Far from sorted: neighbours in the order are far apart.
    assert orders[1000, 0, 0].diff().abs().float().mean() > 250


def test_draws_and_orders_stay_what_they_are():
    """Seeds are part of a result: the same seed must give the same numbers in every release."""
    numbers = draws.draw(torch.arange(1, 4), seed=7, step=1, view=1, purpose=draws.EDGES)
    assert numbers.tolist() == [-7483323229137726600, -3935390188871437568, 3800017396924201679]
    assert shuffled(torch.arange(5), 5, seed=3, epoch=2).tolist() == [4, 3, 0, 1, 2]
    order = shuffled(torch.arange(16), 16, seed=3, epoch=2).tolist()
    assert order == [14, 7, 0, 11, 2, 9, 12, 5, 6, 15, 10, 1, 8, 3, 4, 13]
    assert draws.sample_nodes(30, 5, seed=1, step=2).tolist() == [8, 15, 18, 21, 22]
    keys = draws.edge_keys(torch.tensor([0, 3]), torch.tensor([2, 1]), 5, False)
    assert keys.tolist() == [-1169037589280886076, -7989216276860571179]
