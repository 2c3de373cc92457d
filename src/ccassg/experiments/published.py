"""The paper's numbers (Zhang et al., NeurIPS 2021), as printed, by method and dataset; ``published.json`` names each table's source.

They were measured on a GPU and, for CCA-SSG, kept the best test accuracy among ties on validation; ours never do.
"""

import json
from importlib import resources

from ccassg.datasets import CARDS

Table = dict[str, dict[str, str]]
_PRINTED = json.loads(resources.files("ccassg.experiments").joinpath("published.json").read_text(encoding="utf-8"))

# Names of methods in the tables and in their order, by the name they are run under; names of datasets, without a publisher's.
NAMES: dict[str, str] = _PRINTED["names"]
TITLES = {name: card.title.split()[-1] for name, card in CARDS.items()}


def _table(name: str) -> Table:
    columns, rows = _PRINTED[name]["columns"], _PRINTED[name]["rows"]
    return {method: dict(zip(columns, row, strict=True)) for method, row in rows.items()}


CONCEPTS = _table("concepts")
CITATION = _table("citation")
COPURCHASE = _table("copurchase")
ABLATION = _table("ablation")
SCALABILITY = {dataset: _table(f"scalability {dataset}") for dataset in ("cora", "pubmed", "computers")}
NO_AUGMENTATION = {dataset: float(value) for dataset, value in _table("no-augmentation")["cca-ssg"].items()}
LABEL_RATES = {dataset: _table(f"label-rates {dataset}") for dataset in ("cora", "citeseer", "pubmed")}
