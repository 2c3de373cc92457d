"""Renew the tables of docs/large-graphs.md from results/cluster.json: `python -m tests.cluster.page`."""

from __future__ import annotations

import json
from pathlib import Path

PROJECT = Path(__file__).parents[2]
RESULTS, DOCUMENT = PROJECT / "results" / "cluster.json", PROJECT / "docs" / "large-graphs.md"


def renew_document() -> None:
    pass
