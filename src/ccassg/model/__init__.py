"""The paper, and its linear form without training. Read in this order:

1. `algorithm`: Algorithm 1 line by line in plain PyTorch; a reader in a hurry stops here.
2. `augment`: the two random views of a graph.
3. `encoder`: the GCN and the MLP that embed a view.
4. `loss`: the objective.
5. `presets`: the paper's hyper-parameters for its seven datasets.
6. `canonical`: not in the paper; the linear encoder whose best weights are computed.

`ccassg.training` computes the same faster and on larger graphs.
"""
