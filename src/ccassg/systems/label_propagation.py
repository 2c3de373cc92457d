"""Label propagation (Zhu and Ghahramani, Learning from Labeled and Unlabeled Data with Label Propagation, 2002)."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from ccassg.graph import Graph
from ccassg.systems.base import Classifier
from ccassg.systems.supervised import edge_index
from ccassg.training.settings import OnStep


@dataclass(kw_only=True, eq=False, repr=False)
class LabelPropagation(Classifier):
    """PyG's ``LabelPropagation``; the features are not read.

    It predicts only the nodes it was fitted on. A node that no label reaches gets the most frequent class.
    """

    package: ClassVar[str | None] = "torch_geometric"
    needs_edges: ClassVar[bool] = True

    n_hops: Annotated[int, "Number of propagations."] = 50
    alpha: Annotated[float, "Weight of the neighbours against the node's own label."] = 0.9

    @property
    def needs_features(self) -> bool:
        """They are not read."""
        return False

    def _fit(self, graph: Graph, y: Tensor, train: Tensor, validation: Tensor, on_step: OnStep | None) -> list[float]:
        self.labels_ = torch.full((graph.n_nodes,), -1)
        self.labels_[train] = y[train]
        return []

    def _scores(self, graph: Graph) -> Tensor:
        from torch_geometric.nn import LabelPropagation as Propagation

        if graph.n_nodes != len(self.labels_):
            raise ValueError(
                f"label propagation predicts only the {len(self.labels_)} nodes it was fitted on, got {graph.n_nodes}"
            )
        known = self.labels_ >= 0
        start = functional.one_hot(self.labels_.clamp(min=0), len(self.classes_)).float()
        scores: Tensor = Propagation(self.n_hops, self.alpha)(start, edge_index(graph), mask=known)
        scores[scores.sum(1) == 0] = start[known].sum(0)
        return scores / scores.sum(1, keepdim=True)

    def _tensors(self) -> dict[str, Tensor]:
        return {"labels": self.labels_}

    def _restore(self, state: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        super()._restore(state, {})
        self.labels_ = tensors["labels"]
