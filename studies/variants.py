"""Runs with what no setting changes: the scale of features and embedding, the initial weights, what chooses the step.

A run names it in its entry ``details``; `TASKS` does such runs, and those without the entry like every other.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from sklearn import preprocessing

from ccassg.estimator import CCASSG
from ccassg.experiments.records import Run
from ccassg.experiments.tasks import make_model, score_classifier, score_embedder
from ccassg.graph import Dataset, Graph
from ccassg.model.encoder import Encoder
from ccassg.systems import METHODS
from ccassg.training.settings import Settings


class OtherStart(CCASSG):
    """CCA-SSG from other initial weights than Glorot's uniform ones: "glorot-normal" or "he" (uniform)."""

    start = "he"

    def prepare(self, graph: Graph) -> tuple[Settings, Encoder]:
        """As `CCASSG.prepare`, with the weights drawn anew."""
        settings, encoder = super().prepare(graph)
        generator = torch.Generator().manual_seed(settings.seed)
        for weight in encoder.weights:
            if self.start == "he":
                torch.nn.init.kaiming_uniform_(weight.data.T, nonlinearity="relu", generator=generator)
            else:
                torch.nn.init.xavier_normal_(weight.data, generator=generator)
        return settings, encoder


class UnitRows:
    """A system whose embedding has rows of length 1."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def transform(self, graph: Graph) -> Any:
        """As the system's, row by row."""
        return preprocessing.normalize(self.model.transform(graph))


def classify_nodes(run: Run, data: Dataset) -> dict[str, Any]:
    """As the task of the same name in `ccassg.experiments.tasks`, with the run's details."""
    details = run.get("details", {})
    if METHODS[run["method"]].kind == "classifier":
        return score_classifier(run, data, choose=details.get("choose") != "last")
    model = UnitRows(model_of(run)) if details.get("rows") == "length 1" else model_of(run)
    return score_embedder(run, replace(data, graph=scaled(run, data.graph)), model)


TASKS = {"node-classification": classify_nodes}


def model_of(run: Run) -> Any:
    """The system of a run, with its initial weights."""
    if (start := run.get("details", {}).get("start")) is None:
        return make_model(run)
    model = OtherStart(**run["settings"], random_state=run["seed"])
    model.start = start
    return model


def scaled(run: Run, graph: Graph) -> Graph:
    """The graph of a run: as it is, or with features of another scale.

    The "other scale" is raw where the features are normalised, and the other way round; "length 4" is that of every row.
    """
    scale = run.get("details", {}).get("features")
    if scale is None:
        return graph
    features = sp.csr_array(graph.features)
    if scale == "length 4":
        return graph.with_features(sp.csr_array(4 * preprocessing.normalize(features)))
    if run["dataset"] in ("cora", "citeseer"):
        # The rows of 0 and 1 that were divided by their sum.
        return graph.with_features((features > 0).astype(np.float32))
    sums = np.asarray(features.sum(axis=1)).ravel()
    return graph.with_features(sp.diags_array(1 / np.where(sums == 0, 1, sums)) @ features)
