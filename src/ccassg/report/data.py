"""What a report is made of: plain arrays and dicts, checked at the door."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ccassg.evaluate.checks import check_embedding
from ccassg.graph import Array


@dataclass(frozen=True, eq=False)
class ReportData:
    """All that the page shows. Only ``title`` and ``embedding`` are needed; what is left out is not drawn.

    The first seven are as in `write_report`. ``history`` has one value per step. ``probe`` is as of `ProbeResult.as_dict`,
    with ``classes``, the names of the classes, and ``raw_features``, what these score. Of the ``provenance``, ``seconds`` and ``peak_memory`` (bytes) are also shown
    at the top. ``choices`` say why automatic settings are what they are; ``graph`` are the counts of `Graph.counts`;
    ``scaled`` says whether its features were brought to one scale.
    """

    title: str
    embedding: Array
    node_ids: Any = None
    names: Any = None
    labels: Any = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    layout: Any = None
    history: Mapping[str, Sequence[float]] = field(default_factory=dict)
    probe: Mapping[str, Any] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    choices: Sequence[str] = ()
    notes: Sequence[str] = ()
    graph: Mapping[str, Any] = field(default_factory=dict)
    scaled: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "embedding", check_embedding(self.embedding, "embedding"))
        n = len(self.embedding)
        for name, values in {
            "node_ids": self.node_ids,
            "names": self.names,
            "labels": self.labels,
            **self.columns,
        }.items():
            if values is not None and len(values) != n:
                raise ValueError(f"{name} has {len(values):,} entries, but there are {n:,} nodes; give one each")
        if self.layout is not None:
            layout = np.asarray(self.layout)
            if layout.shape != (n, 2) or layout.dtype.kind not in "iuf" or not np.isfinite(layout).all():
                raise ValueError(f"layout must be finite numbers of shape ({n}, 2), got shape {layout.shape}")
        if self.probe is not None and "confusion" in self.probe:
            confusion = np.asarray(self.probe["confusion"])
            if confusion.ndim != 2 or confusion.shape[0] != confusion.shape[1]:
                raise ValueError(f"the probe's confusion matrix must be square, got shape {confusion.shape}")
            if "classes" in self.probe and len(self.probe["classes"]) != len(confusion):
                raise ValueError(
                    f"the probe names {len(self.probe['classes'])} classes, but its confusion matrix has "
                    f"{len(confusion)} rows; name one each"
                )


def about_model(model: Any) -> dict[str, Any]:
    """Return what a fitted model of any system tells for the page: its history, its settings and the reasons for them, and whether it scales."""
    return {
        "history": getattr(model, "history_", {}),
        "settings": getattr(model, "settings_", model.get_params(deep=False)),
        "choices": getattr(model, "reasons_", ()),
        "scaled": getattr(model, "scaling_", None) is not None,
    }
