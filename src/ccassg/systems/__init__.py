"""Every system of the paper behind one interface, `ccassg.system.System`; CCA-SSG is one of them.

Embedders have ``fit(graph)`` and ``transform(graph)``, classifiers ``fit(graph, y)`` and ``predict(graph)`` with -1 in
``y`` for nodes without a label. Each is imported when it is asked for, with the library that it needs.
"""

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple


class Method(NamedTuple):
    """Where a system is, what it does, and the parameters that its name stands for."""

    module: str
    class_name: str
    kind: Literal["embedder", "classifier"] = "embedder"
    parameters: dict[str, Any] = {}  # noqa: RUF012 - nobody writes to it


METHODS: dict[str, Method] = {
    "raw-features": Method("untrained", "RawFeatures"),
    "propagated-features": Method("untrained", "PropagatedFeatures"),
    "hops": Method("hops", "Hops"),
    "untrained-gcn": Method("untrained", "UntrainedGCN"),
    "linear-cca": Method("linear_cca", "LinearCCA"),
    "deepwalk": Method("deepwalk", "DeepWalk"),
    "deepwalk-features": Method("deepwalk", "DeepWalk", parameters={"add_features": True}),
    "gae": Method("gae", "GAE"),
    "dgi": Method("dgi", "DGI"),
    "mvgrl": Method("mvgrl", "MVGRL"),
    "grace": Method("grace", "GRACE"),
    "gca-degree": Method("gca", "GCA", parameters={"centrality": "degree"}),
    "gca-pagerank": Method("gca", "GCA", parameters={"centrality": "pagerank"}),
    "gca-eigenvector": Method("gca", "GCA", parameters={"centrality": "eigenvector"}),
    "bgrl": Method("two_views", "BGRL"),
    "graph-barlow-twins": Method("two_views", "GraphBarlowTwins"),
    "vicreg": Method("two_views", "VICReg"),
    "cca-ssg": Method("ccassg.estimator", "CCASSG"),
    "mlp": Method("supervised", "MLP", "classifier"),
    "label-propagation": Method("label_propagation", "LabelPropagation", "classifier"),
    "gcn": Method("supervised", "GCN", "classifier"),
    "gat": Method("supervised", "GAT", "classifier"),
    "chebnet": Method("supervised", "ChebNet", "classifier"),
}


EMBEDDERS = tuple(name for name in METHODS if METHODS[name].kind == "embedder")
CLASSIFIERS = tuple(name for name in METHODS if METHODS[name].kind == "classifier")


def get_class(name: str) -> Any:
    """Return the class behind a name, imported now."""
    method = method_of(name)
    module = method.module if "." in method.module else f"{__name__}.{method.module}"
    return getattr(importlib.import_module(module), method.class_name)


def make(name: str, dataset: str | None = None, **parameters: Any) -> Any:
    """Return a system, ready to fit.

    Parameters
    ----------
    name : str
        A key of `METHODS`.
    dataset : str, optional
        One of the paper's seven: the system's published settings for it. Without, its defaults.
    **parameters
        Override single parameters.

    Examples
    --------
    >>> make("grace", "cora", random_state=0).temperature
    0.4
    """
    from ccassg.systems import presets

    method, cls = method_of(name), get_class(name)
    published = {} if dataset is None else presets.published(cls, dataset)
    if dataset not in (None, *presets.DATASETS) and not published:
        raise ValueError(f"there is no preset for dataset {dataset!r}; there are {', '.join(presets.DATASETS)}")
    settings = published | method.parameters | parameters
    require_parameters(name, settings, cls().get_params())
    return cls(**settings)


def load(folder: str | Path) -> Any:
    """Read any saved system, CCA-SSG included; the files say which one it is."""
    from ccassg import model_file

    saved = model_file.load(Path(folder))
    for name, method in METHODS.items():
        if method.class_name == saved.method:
            return get_class(name).from_saved(saved, folder)
    raise ValueError(f"{folder} names the system {saved.method!r}, which this version does not know")


def require_parameters(name: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse what is none of the parameters of a method: ValueError."""
    from ccassg.graph.checks import choose_from

    for parameter in sorted(set(given).difference(known)):
        raise ValueError(f"{name} has no parameter {parameter!r}; {choose_from(parameter, known)}")


def method_of(name: str) -> Method:
    """Return where a method is and what it does; ValueError if there is none of that name."""
    if name not in METHODS:
        from ccassg.graph.checks import choose_from  # a Tab at the prompt need not wait for NumPy

        raise ValueError(f"there is no method {name!r}; {choose_from(name, METHODS)}")
    return METHODS[name]
