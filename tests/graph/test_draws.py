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


def murmur(x):
    """The 64-bit finaliser of MurmurHash3, in whole numbers of Python."""
    for multiplier in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53, 1):
        x = ((x ^ x >> 33) * multiplier) % 2**64
    return x


def split_mix(x):
    """The finaliser of SplitMix64, of the next state."""
    x = (x + 0x9E3779B97F4A7C15) % 2**64
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) % 2**64
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) % 2**64
    return x ^ x >> 31


def signed(x):
    return x - 2**64 if x >= 2**63 else x


def plain_draw(key, seed, step, view, purpose):
    stream = split_mix(split_mix(split_mix(split_mix(seed % 2**64) ^ step) ^ view) ^ purpose)
    return signed(murmur(key % 2**64 ^ stream))


def test_draws_are_those_of_whole_numbers():
    keys = [0, 1, 2, -1, 12345678901234567, -(2**63), 2**63 - 1]
    for seed in (0, 1, 2**31, 2**63 + 5, 2**64 - 1, 2**64, -3):
        for step, view, purpose in ((0, 0, 0), (7, 1, 2), (10**6, 3, 4)):
            found = draws.draw(torch.tensor(keys), seed=seed, step=step, view=view, purpose=purpose)
            assert found.tolist() == [plain_draw(key, seed, step, view, purpose) for key in keys]
    assert draws.numbered_keys(4).tolist() == [signed(murmur(i)) for i in (1, 2, 3, 4)]


def test_keys_of_edges_are_those_of_either_end_or_of_one():
    receivers, senders, n = torch.tensor([0, 3, 4]), torch.tensor([2, 1, 4]), 5
    for both, pairs in ((False, [(0, 2), (3, 1), (4, 4)]), (True, [(2, 0), (3, 1), (4, 4)])):
        found = draws.edge_keys(receivers, senders, n, both)
        assert found.tolist() == [signed(murmur(sender * n + receiver + 1)) for receiver, sender in pairs]
    assert receivers.tolist() == [0, 3, 4]


def test_what_is_kept_is_what_draws_at_or_above_the_threshold():
    assert [draws.threshold(rate) for rate in (0.0, 0.25, 0.5)] == [-(2**63), -(2**62), 0]
    keys = torch.arange(1000)
    for rate in (0.0, 0.3, 0.9):
        kept = draws.keep(keys, rate, seed=3, step=2, view=1, purpose=1)
        drawn = [plain_draw(key, 3, 2, 1, 1) for key in range(1000)]
        assert kept.tolist() == [number >= rate * 2.0**64 - 2**63 for number in drawn]


def test_the_order_is_a_feistel_network_of_four_rounds_walked_until_it_fits():
    for n in (1, 2, 3, 4, 5, 16, 17, 70):
        bits = max(1, -(-(n - 1).bit_length() // 2))
        expected = []
        for position in range(n):
            while True:
                left, right = position >> bits, position % 2**bits
                for i in range(4):
                    number = plain_draw(murmur(right + 1), 5, 9, i, draws.ORDER)
                    left, right = right, left ^ number % 2**bits
                position = (left << bits) + right
                if position < n:
                    break
            expected.append(position)
        assert shuffled(torch.arange(n), n, seed=5, epoch=9).tolist() == expected


def test_sampled_nodes_are_those_with_the_highest_numbers():
    numbers = [plain_draw(murmur(i + 1), 2, 3, 0, draws.NODES) for i in range(30)]
    assert draws.sample_nodes(30, 7, seed=2, step=3).tolist() == sorted(np.argsort(numbers)[-7:].tolist())


def test_a_draw_at_the_threshold_is_kept():
    keys = torch.arange(20_000)
    numbers = draws.draw(keys, seed=0, step=0, view=0, purpose=0)
    exact = next(i for i, number in enumerate(numbers.tolist()) if number % 2**12 == 0)  # its rate has 52 digits
    rate = (int(numbers[exact]) + 2**63) / 2**64
    assert draws.threshold(rate) == int(numbers[exact])
    assert draws.keep(keys[exact], rate, seed=0, step=0, view=0, purpose=0)
