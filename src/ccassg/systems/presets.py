"""Each system's hyper-parameters per dataset, from its own paper or code where there are any.

What a system's defaults already say is not repeated. Where a system was never published on a dataset, the comment says what
was taken instead.
"""

from typing import Any

from ccassg.model.presets import PRESETS as CCASSG_PRESETS

DATASETS = ("cora", "citeseer", "pubmed", "computers", "photo", "cs", "physics")
CITATION, OTHERS = DATASETS[:3], DATASETS[3:]

Settings = dict[str, Any]


def _views(edges: Any, columns: Any) -> Settings:
    return {"edge_drop_rate": edges, "feature_mask_rate": columns}


def everywhere(datasets: tuple[str, ...], **settings: Any) -> dict[str, Settings]:
    """The same settings on each of some datasets."""
    return {name: dict(settings) for name in datasets}


def _widths(embedding: int) -> Settings:
    """GRACE and its descendants: the hidden layer is twice as wide as the embedding."""
    return {"hidden_dim": 2 * embedding, "embedding_dim": embedding}


CCA_SSG: dict[str, Settings] = CCASSG_PRESETS

# The rates of the paper on CCA-SSG, for systems that name none. On CS it has an MLP and drops no edges: Cora's rate there.
_CCASSG_VIEWS = {
    name: _views(preset["edge_drop_rate"] or 0.4, preset["feature_mask_rate"])
    for name, preset in CCASSG_PRESETS.items()
}

# Its widths and number of steps too, for the feature-level systems that were not published on a graph.
_LIKE_CCASSG = {
    name: _CCASSG_VIEWS[name] | {"hidden_dim": 512, "embedding_dim": 512, "n_steps": preset["n_steps"]}
    for name, preset in CCASSG_PRESETS.items()
}

# The architecture of CCA-SSG, so that the difference is what training adds.
UNTRAINED_GCN: dict[str, Settings] = {"citeseer": {"n_layers": 1}}

# Embedding widths of the DGI paper, section 4.2: 512, and 256 on Pubmed.
DGI: dict[str, Settings] = {"pubmed": {"embedding_dim": 256}}

# README of the DGL example of MVGRL by the first author of CCA-SSG (dmlc/dgl, examples/pytorch/mvgrl), whose Cora result is
# the one that the paper quotes; 4000-node subgraphs as in the paper's table on scalability.
MVGRL: dict[str, Settings] = {
    "citeseer": {"weight_decay": 1e-3, "n_steps": 200},
} | everywhere(("pubmed", *OTHERS), subgraph_nodes=4000, n_steps=400, patience=None)

# Citation graphs: README of the DGL example of GRACE by the first author of CCA-SSG (dmlc/dgl, examples/pytorch/grace, "public
# split"), whose results the paper quotes; GRACE's own settings are for random splits. Others: GCA's, which ran GRACE too.
_GRACE_CITATION: dict[str, Settings] = {
    "cora": _widths(256)
    | _views((0.3, 0.4), (0.3, 0.4))
    | {"activation": "relu", "temperature": 0.4, "learning_rate": 5e-4, "n_steps": 400, "projector_dim": 256},
    "citeseer": _widths(512)
    | _views(0.3, 0.3)
    | {"activation": "prelu", "temperature": 0.4, "n_steps": 100, "projector_dim": 512},
    "pubmed": _widths(256)
    | _views((0.4, 0.1), (0.0, 0.2))
    | {"activation": "relu", "temperature": 0.7, "n_steps": 1500, "projector_dim": 256},
}

# CRIPAC-DIG/GCA, folder param, one file per dataset; weight decay 1e-5 throughout.
_GCA_OTHERS: dict[str, Settings] = {
    "computers": _widths(128)
    | _views((0.6, 0.3), (0.2, 0.3))
    | {"activation": "rrelu", "temperature": 0.2, "learning_rate": 1e-2, "n_steps": 2000, "projector_dim": 128},
    "photo": _widths(256)
    | _views((0.3, 0.5), (0.1, 0.1))
    | {"activation": "relu", "temperature": 0.3, "learning_rate": 0.1, "n_steps": 2000, "projector_dim": 64},
    "cs": _widths(256)
    | _views((0.3, 0.2), (0.3, 0.4))
    | {"activation": "rrelu", "temperature": 0.4, "learning_rate": 5e-4, "n_steps": 1000, "projector_dim": 256},
    "physics": _widths(128)
    | _views((0.4, 0.1), (0.1, 0.4))
    | {"activation": "rrelu", "temperature": 0.5, "learning_rate": 1e-2, "n_steps": 1500, "projector_dim": 64},
}
GRACE: dict[str, Settings] = _GRACE_CITATION | _GCA_OTHERS
# GCA was not published on the citation graphs: GRACE's settings.
GCA: dict[str, Settings] = GRACE

# nerdslab/bgrl, folder config. Not published on the citation graphs: CCA-SSG's views and a tenth of the steps.
_BGRL: Settings = {"n_steps": 10_000, "n_warmup_steps": 1000}
BGRL: dict[str, Settings] = {
    **{
        name: _CCASSG_VIEWS[name] | {"n_steps": 1000, "n_warmup_steps": 100, "learning_rate": 5e-4} for name in CITATION
    },
    "computers": _BGRL | _widths(128) | _views((0.5, 0.4), (0.2, 0.1)) | {"learning_rate": 5e-4},
    "photo": _BGRL | _widths(128) | _views((0.4, 0.1), (0.1, 0.2)) | {"learning_rate": 1e-4},
    "cs": _BGRL | _widths(256) | _views((0.3, 0.2), (0.3, 0.4)) | {"learning_rate": 1e-5},
    "physics": _BGRL | _widths(128) | _views((0.4, 0.1), (0.1, 0.4)) | {"learning_rate": 1e-5},
}

# pbielak/graph-barlow-twins, experiments/configs (1000 steps, full batch; rates of its transductive configuration). Not
# published on the citation graphs: CCA-SSG's views, widths and steps.
_GBT: Settings = {"n_steps": 1000, "n_warmup_steps": 100}
GRAPH_BARLOW_TWINS: dict[str, Settings] = {
    **{name: _LIKE_CCASSG[name] | {"n_warmup_steps": 5} for name in CITATION},
    "computers": _GBT | _widths(128) | _views(0.4, 0.1) | {"learning_rate": 5e-4},
    "photo": _GBT | _widths(256) | _views(0.1, 0.3) | {"learning_rate": 1e-4},
    "cs": _GBT | _widths(256) | _views(0.5, 0.2) | {"learning_rate": 1e-5},
    "physics": _GBT | _widths(128) | _views(0.5, 0.2) | {"learning_rate": 1e-5},
}

# VICReg was published on images; the views, widths and number of steps are CCA-SSG's.
VICREG: dict[str, Settings] = _LIKE_CCASSG

# Supervised systems: the settings of their papers on citation graphs are the defaults. Others: Shchur et al., Pitfalls of
# Graph Neural Network Evaluation, 2018 (shchur/gnn-benchmark, config/optimized).
MLP: dict[str, Settings] = everywhere(OTHERS, hidden_dim=64, dropout_rate=0.8, learning_rate=5e-3, weight_decay=1e-2)
GCN: dict[str, Settings] = everywhere(OTHERS, hidden_dim=64, dropout_rate=0.8, weight_decay=1e-3)
# GAT paper, section 3.3: on Pubmed 8 output heads, a stronger decay and a higher rate.
GAT: dict[str, Settings] = {
    "pubmed": {"n_output_heads": 8, "weight_decay": 1e-3, "learning_rate": 1e-2},
} | everywhere(OTHERS, learning_rate=1e-2, weight_decay=1e-2)
