"""Missing edges: how well embeddings find edges that were held out before training, and how freely their weights may fit.

Of the edges 85 % are kept, 5 % are for choices and 10 % are scored, each with a random pair without an edge beside it; with nothing
named, the embedding is fitted on the graph of the 85 % alone. Pairs are scored as by `ccassg links`, beside what needs no training, and
with other strengths of regularisation, of which the 5 % tell the best.
"""

from pathlib import Path
from typing import Any

import numpy as np

from ccassg.defaults import canonical
from ccassg.estimator import CCASSG
from ccassg.evaluate import links
from ccassg.evaluate.neighbours import unit_rows
from ccassg.experiments import Drawn, Experiment, Plan
from ccassg.experiments.experiment import Cells, Found
from ccassg.experiments.published import TITLES
from ccassg.experiments.records import Run
from ccassg.experiments.tables import count_note
from ccassg.graph import Dataset
from ccassg.report.tables import mean_std
from studies.command import run_study
from studies.default_settings import OWN, own_graph

STRENGTHS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
# By the names of the tables.
SCORES = {"AUC": "auc", "precision": "average_precision", "hits": "hits@50"}
# Zhao et al., "Masked Graph Autoencoder with Non-discrete Bandwidths" (WWW 2024).
PUBLISHED = {"cora": 95.7, "citeseer": 96.9, "pubmed": 97.3}


def cells(plan: Plan) -> Cells:
    """Every dataset with every seed."""
    common = {"task": "links", "strengths": list(STRENGTHS), "defaults": canonical.VERSION}
    return {
        (dataset,): [common | {"dataset": dataset, "seed": seed} for seed in range(plan.n_seeds)]
        for dataset in plan.datasets
    }


def score_links(run: Run, data: Dataset | None) -> dict[str, Any]:
    """Fit once without the held-out edges; the scores, and AUC on both held-out parts at every strength."""
    graph = (data or own_graph(run["dataset"])).graph
    kept, parts = links.hold_out(graph, run["seed"])
    z = CCASSG(random_state=run["seed"]).fit_transform(kept)
    unit = unit_rows(z)
    strengths = {}
    for strength in run["strengths"]:
        weighted = unit * links.learn(unit, *parts["train"], strength)[0]
        strengths[f"{strength:g}"] = {
            part: links.measure(weighted, unit, parts[part])["auc"] for part in ("val", "test")
        }
    return {"links": links.compare(z, kept, parts), "strengths": strengths}


TASKS = {"links": score_links}


def draw(found: Found, plan: Plan, _: Path) -> Drawn | None:
    """One table of AUC with the published one, one of each other score, and one of the strengths."""
    titles = TITLES | OWN
    done = {dataset: [record["result"] for record in records] for (dataset,), records in found.items()}
    if not done:
        return None
    tables: dict[str, list[dict[str, Any]]] = {}
    for title, score in SCORES.items():
        names = next(iter(done.values()))[0]["links"]
        rows = [
            {"scored by": name}
            | {titles[d]: _percent([one["links"][name][score] for one in ones]) for d, ones in done.items()}
            for name in names
        ]
        published = {"scored by": "Bandana, as published"} | {
            titles[d]: f"{PUBLISHED[d]:.1f}" for d in done if d in PUBLISHED
        }
        tables[title] = [*rows, published] if score == "auc" else rows
    tables["strength"] = [
        {"strength": f"{strength:.0e}"}
        | {
            f"{titles[d]}, {part}": _percent([one["strengths"][f"{strength:g}"][part] for one in ones])
            for d, ones in done.items()
            for part in ("val", "test")
        }
        for strength in STRENGTHS
    ]
    hops = {d: sorted({one["links"]["cosine of A^k X"]["k"] for one in ones}) for d, ones in done.items()}
    chosen = ", ".join(f"{' or '.join(map(str, found))} on {titles[d]}" for d, found in hops.items())
    notes = (
        f"In percent, on 10 % of the edges and as many random pairs: AUC, average precision, hits@50. {count_note([len(ones) for ones in done.values()])} Embedding: as "
        f"`ccassg links` scores, at strength {links.STRENGTH:g}. k, chosen on the 5 %, was {chosen}. The last table has the AUC of the "
        f"embedding by the inverse regularisation of its weights, on the 5 % (val) and on the 10 % (test)."
    )
    return Drawn(tables, notes=notes, folded=("precision", "hits", "strength"))


def _percent(values: list[float]) -> str:
    return mean_std((100 * np.array(values, np.float64)).tolist())


STUDY = Experiment(
    title="Edges held out before training, found again",
    datasets=(*PUBLISHED, *OWN),
    cells=cells,
    draw=draw,
    n_seeds=10,
    tasks="studies.links",
)

if __name__ == "__main__":
    run_study("links", STUDY)
