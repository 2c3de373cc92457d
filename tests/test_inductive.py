"""Nodes never seen in training: on Pubmed, classified nearly as well as if they had been there."""

import numpy as np

from ccassg import CCASSG, Split, linear_probe


def test_held_out_nodes_of_pubmed_are_classified_within_two_points_of_transductive_embedding(dataset):
    data = dataset("pubmed")
    order = np.random.default_rng(0).permutation(data.graph.n_nodes)
    held_out, seen = order[:4000], np.sort(order[4000:])
    model = CCASSG.preset("pubmed", n_steps=40, hidden_dim=256, embedding_dim=256, loss_nodes=1024, random_state=0)
    transductive = model.fit_transform(data.graph)
    inductive = model.fit(data.graph.subgraph(seen)).transform(data.graph)
    split = Split(train=np.sort(seen[:2000]), val=np.sort(seen[2000:4000]), test=np.sort(held_out))
    result = linear_probe([transductive, inductive], data.y, [split, split], seeds=[0, 0], epochs=500)
    assert result.accuracies[0] > 0.75
    assert result.accuracies[1] > result.accuracies[0] - 0.02
