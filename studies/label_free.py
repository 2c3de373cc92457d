"""Which criterion without labels finds good settings, and where training should stop (not in the paper).

The same random settings of the paper's grids are trained on every dataset, and measured at several numbers of steps: each pair of
settings and steps counts as a setting of its own. A criterion is judged by its rank correlation with the probe's test
accuracy, and by its regret: what the setting that it likes best loses against the best one. Test accuracy judges, and chooses
nothing.
"""

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from ccassg.estimator import CCASSG
from ccassg.evaluate.probe import linear_probe
from ccassg.experiments import Drawn, Experiment, Plan
from ccassg.experiments.experiment import Cells, Found
from ccassg.experiments.published import TITLES
from ccassg.experiments.records import Record, Run
from ccassg.experiments.runs import OURS, classification_run
from ccassg.graph import Dataset
from ccassg.report import style
from ccassg.training import loop
from ccassg.training.embedding import embed
from studies import criteria
from studies.command import run_study

# The paper's search grids (appendix, "Hyper-parameters").
GRID: dict[str, tuple[Any, ...]] = {
    "n_layers": (1, 2, 3),
    "decorrelation": (1e-4, 5e-4, 1e-3, 5e-3, 1e-2),
    "learning_rate": (5e-4, 1e-3, 5e-3),
    "edge_drop_rate": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
    "feature_mask_rate": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
}
STEPS = (5, 10, 20, 50, 100)
N_SETTINGS, QUICK_SETTINGS = 12, 3
# Narrow and with the loss on some nodes, so that many settings can be tried.
WIDTH, LOSS_NODES, EPOCHS = 128, 1024, 500
# Judged beside the criteria: what labels would give.
WITH_LABELS = "validation accuracy"
# Would several criteria together, by the sum of their ranks, do better? At most so many.
MOST_COMBINED = 3


def settings_tried(n: int = N_SETTINGS) -> list[dict[str, Any]]:
    """Random settings of the paper's grids but for the width, the same for all datasets."""
    rng = np.random.default_rng(0)
    found = []
    for i in range(n):
        drawn = {name: values[int(rng.integers(len(values)))] for name, values in GRID.items()}
        if drawn["edge_drop_rate"] == drawn["feature_mask_rate"] == 0:
            drawn["feature_mask_rate"] = 0.2
        # Every fourth is an MLP: all that the grid has to say about edges.
        encoder = "mlp" if i % 4 == 3 else "gcn"
        if encoder == "mlp":
            drawn |= {"edge_drop_rate": 0.0, "feature_mask_rate": drawn["feature_mask_rate"] or 0.2}
        found.append(
            drawn | {"encoder": encoder, "hidden_dim": WIDTH, "embedding_dim": WIDTH, "loss_nodes": LOSS_NODES}
        )
    return found


def cells(plan: Plan) -> Cells:
    """Every setting on every dataset."""
    tried = settings_tried()[: QUICK_SETTINGS if plan.quick else N_SETTINGS]
    return {
        (dataset,): [_run(dataset, given, seed) for seed in range(plan.n_seeds) for given in tried]
        for dataset in plan.datasets
    }


def judge_along_training(run: Run, data: Dataset) -> dict[str, Any]:
    """Train once; criteria and accuracies after some of the steps, and the loss of all."""
    split = data.split(**run["splits"][0])
    model = CCASSG(**run["settings"], n_steps=max(run["steps"]), random_state=run["seed"])
    settings, encoder = model.prepare(data.graph)
    found: list[dict[str, Any]] = []

    def on_step(step: int, losses: dict[str, float], total: int) -> None:
        if step + 1 not in run["steps"]:
            return
        z = embed(encoder, data.graph).cpu().numpy()
        scores = linear_probe(z, data.y, split, seeds=run["seed"], **run["probe"])
        values = criteria.criteria_of(encoder, data.graph) | losses
        found.append(
            {
                "steps": step + 1,
                "criteria": values,
                "val_accuracy": scores.val_accuracies[0],
                "test_accuracy": scores.accuracies[0],
            }
        )
        encoder.train()  # measuring has put it into evaluation mode

    history = loop.train(encoder, data.graph, settings, on_step=on_step)
    return {"measured": found, "loss": [round(value, 5) for value in history["loss"]]}


TASKS = {"label-free": judge_along_training}


def draw(found: Found, plan: Plan, figures: Path) -> Drawn | None:
    """Rank correlation and regret of every criterion, and accuracy along training beside the rule's choice."""
    if not found:
        return None
    recorded = {dataset: done for (dataset,), done in found.items()}
    points = {d: [m for record in done for m in record["result"]["measured"]] for d, done in recorded.items()}
    tables = {
        "": _judged(points),
        "transfer": _chosen_elsewhere(points),
        "stopping": _stopping(recorded),
    }
    tables = {name: rows for name, rows in tables.items() if rows}
    with style.figure(2, len(recorded), width=max(4.2, 3.4 * len(recorded)), height=5.6) as (fig, axes):
        for column, (dataset, done) in enumerate(recorded.items()):
            _along_training(axes[0, column], dataset, done)
            _scatter(axes[1, column], points[dataset])
        style.save(fig, figures / "label-free")
    counts = ", ".join(f"{len(points[d])} on {TITLES[d]}" for d in recorded)
    missing = [TITLES[d] for d in plan.datasets if d not in recorded]
    notes = (
        f"Settings: {counts}. Spearman's rank correlation of a criterion with test accuracy, in the direction in which it is "
        f"meant to be better; regret is the accuracy lost, in points, by taking the setting that the criterion ranks first. "
        f"Width {WIDTH}, the loss on {LOSS_NODES} nodes, one seed. "
        "Transfer: the regret on each dataset of the criterion, or of the sum of the ranks of several, that "
        "has the least mean regret on all others; what a choice made here is worth on a graph that had no part in it."
    )
    if missing:
        notes += f" Not recorded yet: {', '.join(missing)}."
    return Drawn(tables, figures=("label-free",), notes=notes)


def _judged(points: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name in (*criteria.CRITERIA, WITH_LABELS, "chance"):
        row: dict[str, Any] = {"criterion": name}
        for dataset, measured in points.items():
            accuracy = np.array([100 * m["test_accuracy"] for m in measured])
            if name == "chance":
                correlation, regret = 0.0, accuracy.max() - accuracy.mean()
            else:
                values = np.array([_value(m, name) for m in measured])
                correlation, regret = rank_correlation(values, accuracy), accuracy.max() - accuracy[values.argmax()]
            row |= {f"{TITLES[dataset]}: rank correlation": round(float(correlation), 2)}
            row |= {f"{TITLES[dataset]}: regret": round(float(regret), 1)}
        rows.append(row)
    return rows


def _chosen_elsewhere(points: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """For each dataset the regret of what is best on the others: one criterion, or up to so many combined."""
    if len(points) < 3:
        return []
    rows: list[dict[str, Any]] = []
    for most in range(1, MOST_COMBINED + 1):
        sets = [names for k in range(1, most + 1) for names in itertools.combinations(criteria.CRITERIA, k)]
        regrets = {names: {d: combined_regret(names, measured) for d, measured in points.items()} for names in sets}
        row: dict[str, Any] = {"criteria": "one" if most == 1 else f"up to {most}"}
        taken, chosen = [], []
        for dataset in points:
            best = min(sets, key=lambda names: sum(r for d, r in regrets[names].items() if d != dataset))
            taken.append(regrets[best][dataset])
            chosen.append(" + ".join(best))
            row[TITLES[dataset]] = round(taken[-1], 1)
        (name, times), *_ = Counter(chosen).most_common(1)
        rows.append(row | {"mean": round(float(np.mean(taken)), 1), "most often": f"{name} ({times} of {len(chosen)})"})
    return rows


def combined_regret(names: tuple[str, ...], measured: list[dict[str, Any]]) -> float:
    """Accuracy lost, in points, by the setting with the highest sum of ranks; the mean of those that tie for it."""
    from scipy.stats import rankdata

    accuracy = np.array([100 * m["test_accuracy"] for m in measured])
    total = np.sum([rankdata([_value(m, name) for m in measured]) for name in names], axis=0)
    return float(accuracy.max() - accuracy[total == total.max()].mean())


def _value(measured: dict[str, Any], name: str) -> float:
    if name == WITH_LABELS:
        return float(measured["val_accuracy"])
    return float(criteria.CRITERIA[name] * measured["criteria"][name])


def rank_correlation(a: Any, b: Any) -> float:
    """Spearman's, ties by their mean rank; 0 where one does not vary."""
    from scipy.stats import rankdata

    ranks = [rankdata(values) for values in (a, b)]
    if min(np.ptp(r) for r in ranks) == 0:
        return 0.0
    return float(np.corrcoef(*ranks)[0, 1])


def _stopping(recorded: dict[str, list[Record]]) -> list[dict[str, Any]]:
    """Mean accuracy after fixed numbers of steps, after the rule's (the next one measured), and at the best of each training."""
    rows = []
    for dataset, done in recorded.items():
        by_run = [{m["steps"]: 100 * m["test_accuracy"] for m in record["result"]["measured"]} for record in done]
        stops = [_stop(record) for record in done]
        row: dict[str, Any] = {"dataset": TITLES[dataset]}
        row |= {f"{n} steps": round(float(np.mean([scores[n] for scores in by_run])), 1) for n in STEPS}
        row["rule"] = round(float(np.mean([scores[n] for scores, n in zip(by_run, stops, strict=True)])), 1)
        row["rule's steps"] = round(float(np.mean(stops)), 0)
        row["best of each"] = round(float(np.mean([max(scores.values()) for scores in by_run])), 1)
        rows.append(row)
    return rows


def _stop(record: Record) -> int:
    """The first measured number of steps that is not before the rule's."""
    loss = record["result"]["loss"]
    stop = next((n for n in range(1, len(loss) + 1) if loop.is_flat(loss[:n])), len(loss))
    return next((n for n in STEPS if n >= stop), STEPS[-1])


def _along_training(ax: Any, dataset: str, done: list[Record]) -> None:
    for record in done:
        curve = {m["steps"]: 100 * m["test_accuracy"] for m in record["result"]["measured"]}
        ax.plot(list(curve), list(curve.values()), color="#8a94a3", linewidth=0.8, marker="", linestyle="-")
        stop = _stop(record)
        ax.plot([stop], [curve[stop]], linestyle="none", marker="o", markersize=4, color="#c2410c")
    ax.set(title=TITLES[dataset], xscale="log", xlabel="steps (dot: the rule's choice)", ylabel="test accuracy (%)")


def _scatter(ax: Any, measured: list[dict[str, Any]]) -> None:
    x = [m["criteria"][criteria.BEST] for m in measured]
    ax.plot(x, [100 * m["test_accuracy"] for m in measured], linestyle="none", marker="o", markersize=3, alpha=0.7)
    ax.set(xlabel=criteria.BEST, ylabel="test accuracy (%)")


def _run(dataset: str, given: dict[str, Any], seed: int) -> Run:
    paper = classification_run(OURS, dataset, seed)
    probe = paper["probe"] | {"epochs": EPOCHS}
    return paper | {"task": "label-free", "settings": given, "steps": list(STEPS), "probe": probe}


STUDY = Experiment(
    title="Criteria without labels: rank correlation with accuracy, regret, and when to stop",
    datasets=("cora", "citeseer", "pubmed", "computers", "photo", "cs", "physics"),
    cells=cells,
    draw=draw,
    n_seeds=1,
    tasks="studies.label_free",
)

if __name__ == "__main__":
    run_study("label-free", STUDY)
