"""The paper's propositions in numbers: entropies and information bottlenecks along training, from repeated views.

Under the paper's Gaussian assumption (see `gaussian_information`), at several steps of training: entropies of Z_S, of Z_S given
the node and given its class, and what follows from them, beside the loss and its terms. Each statement of the paper
(`CLAIMS`) is tested as a rank correlation along training, for the full loss and for either term alone.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ccassg.estimator import CCASSG
from ccassg.evaluate.information import gaussian_information
from ccassg.experiments.ablation import VARIANTS as OBJECTIVES
from ccassg.experiments.experiment import Cells, Drawn, Experiment, Finding, Found, Plan
from ccassg.experiments.published import TITLES
from ccassg.experiments.records import Run
from ccassg.experiments.runs import OURS, a_run
from ccassg.experiments.tables import verdict
from ccassg.graph import Dataset, Graph
from ccassg.model import augment
from ccassg.model.presets import PRESETS
from ccassg.report import style
from ccassg.training.rows import feature_tensor

# What was estimated at each step, by dataset and objective.
Series = dict[tuple[Any, ...], list[dict[str, Any]]]
# What is estimated, as figure and table name it.
QUANTITIES = {
    "entropy": "H(Z)",
    "conditional_entropy": "H(Z|X)",
    "mutual_information": "I(Z;X)",
    "bottleneck": "IB_ssl",
    "multi_view_loss": "L_MIB",
    "class_entropy": "H(Z|T)",
    "class_information": "I(Z;T)",
}
STEPS = (0, 1, 2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200)
N_VIEWS = 8
BETA = 0.5
# What a run says of its estimate; entropies are conditioned on the input X and on the task T.
ESTIMATE: dict[str, Any] = {"n_views": N_VIEWS, "beta": BETA, "given": ["node", "class"]}
# Statements of the paper: what should go which way with what, as a sign of the rank correlation.
CLAIMS = (
    ("Proposition 1", "the invariance loss and H(Z|X) fall together", "invariance", "conditional_entropy", 1),
    ("Proposition 2", "H(Z) rises as the decorrelation loss falls", "decorrelation", "entropy", -1),
    ("Theorem 1, I(Z;X)", "I(Z;X) rises as the loss falls", "loss", "mutual_information", -1),
    ("Theorem 1, I(Z;S|X)", "I(Z;S|X) = H(Z|X) falls with the loss", "loss", "conditional_entropy", 1),
    ("Theorem 2", "IB_ssl rises as the loss falls", "loss", "bottleneck", -1),
    ("Corollary 1", "the multi-view bottleneck loss L_MIB falls with the loss", "loss", "multi_view_loss", 1),
    ("Theorem 3, I(Z;T)", "I(Z;T) rises as the loss falls, T being the class", "loss", "class_information", -1),
    ("Theorem 3, H(Z|T)", "H(Z|T) falls with the loss", "loss", "class_entropy", 1),
)
COROLLARY_2 = Finding(
    "Corollary 2: where augmentation is reversible, Z becomes minimal and sufficient",
    "cannot be measured: dropped edges and masked columns do not come back, so no input has a distribution given its view; with "
    "view and input exchanged, as in the proof, its loss is that of Corollary 1",
)
# From this rank correlation on, under the full loss, a claim counts as confirmed; below 0 as contradicted.
STRICT = 0.8
# Views for the estimates are drawn at steps that training never reaches, so they are new to the encoder.
FRESH = 1_000_000


def cells(plan: Plan) -> Cells:
    """Name every objective on every dataset."""
    # To twice the paper's number of steps: does what training does go on?
    steps = {d: [step for step in STEPS if step <= 2 * PRESETS[d]["n_steps"]] for d in plan.datasets}
    return {
        (d, name): [a_run("information", OURS, d, changes=changes, steps=steps[d], **ESTIMATE)]
        for d in plan.datasets
        for name, changes in OBJECTIVES.items()
    }


def draw(found: Found, plan: Plan, figures: Path) -> Drawn:
    """Curves along training, and for each claim the rank correlation that tests it."""
    series = {cell: done[0]["result"]["snapshots"] for cell, done in found.items()}
    _draw_curves(series, figures)
    agreements = {
        claim: {cell: _agreement(snapshots, left, right, sign) for cell, snapshots in series.items()}
        for claim, _, left, right, sign in CLAIMS
    }
    notes = (
        "Each number is a rank correlation along training, with its sign turned so that +1 is what the paper states and "
        f"-1 the opposite; {N_VIEWS} views per node, beta = {BETA:g}."
    )
    findings: list[Finding] = []
    for claim, statement, *_ in CLAIMS:
        found_full = {d: value for (d, name), value in agreements[claim].items() if name == "full"}
        words = {d: _word(value) for d, value in found_full.items() if value is not None}
        findings += verdict(f"{claim}: {statement}", words)
        findings += [COROLLARY_2] if claim == "Corollary 1" else []
    grows = {d: s[-1]["entropy"] > s[0]["entropy"] for (d, name), s in series.items() if name == "full"}
    findings += verdict("Under the full loss H(Z) ends above where a random encoder starts", grows)
    rows = [
        {"claim": claim, "dataset": TITLES[dataset]} | {name: by_cell.get((dataset, name)) for name in OBJECTIVES}
        for claim, by_cell in agreements.items()
        for dataset in dict.fromkeys(dataset for dataset, _ in series)
    ]
    # First and last value of each quantity, as numbers a reader can check the curves by.
    ends = [
        {"dataset": TITLES[dataset], "objective": name, "steps": snapshots[-1]["step"]}
        | {label: f"{snapshots[0][key]:.3g} to {snapshots[-1][key]:.3g}" for key, label in QUANTITIES.items()}
        for (dataset, name), snapshots in series.items()
    ]
    tables = {"agreement": rows, "ends": ends}
    return Drawn(tables, figures=("information",), notes=notes, findings=findings, folded=("ends",))


def estimate_along_training(run: Run, data: Dataset) -> dict[str, Any]:
    """Train to each step in turn and estimate; the loss at a snapshot is that of the next training step."""
    snapshots: list[dict[str, Any]] = []
    parameters = {name: value for name, value in run["settings"].items() if name != "n_steps"}
    with tempfile.TemporaryDirectory() as folder:
        for step in [*run["steps"], run["steps"][-1] + 1]:
            model = CCASSG(**parameters, n_steps=step, random_state=run["seed"])
            # A longer run continues the shorter one from its checkpoint, bit for bit.
            model.fit(data.graph, checkpoint=Path(folder) / "run", checkpoint_every=10**9)
            if step > run["steps"][-1]:
                break
            classes = data.y if "class" in run["given"] else None
            estimate = gaussian_information(_views(model, data.graph, run), classes, beta=run["beta"])
            snapshots.append({"step": step} | estimate)
    for snapshot in snapshots:
        snapshot |= {name: values[snapshot["step"]] for name, values in model.history_.items()}
    return {"snapshots": snapshots, "n_parameters": model.n_parameters_}


@torch.no_grad()
def _views(model: CCASSG, graph: Graph, run: Run) -> Iterator[np.ndarray]:
    """Yield embeddings of new random views, one at a time, (n, d) each."""
    encoder, seed = model.encoder_.eval(), run["seed"]
    features, edges = feature_tensor(graph, "cpu"), augment.edge_structure(graph)
    given = run["settings"]
    for view in range(run["n_views"]):
        draw_at = {"seed": seed, "step": FRESH, "view": view}
        columns = augment.mask_features(graph.n_features, given["feature_mask_rate"], **draw_at)
        a = augment.drop_edges(edges, given["edge_drop_rate"], **draw_at)
        yield encoder(features, a, keep_columns=columns).numpy()


def _draw_curves(series: Series, figures: Path) -> None:
    datasets = list(dict.fromkeys(dataset for dataset, _ in series))
    columns = {"loss": "loss"} | {name: f"{label} (nats)" for name, label in QUANTITIES.items()}
    lines = 2 * len(datasets)
    with style.figure(lines, len(columns) // 2, width=11, height=2.4 * lines) as (fig, axes):
        for panels, dataset in zip(axes.reshape(len(datasets), -1), datasets, strict=True):
            for ax, (name, label) in zip(panels, columns.items(), strict=True):
                for objective in OBJECTIVES:
                    snapshots = series.get((dataset, objective), [])
                    ax.plot([s["step"] for s in snapshots], [s[name] for s in snapshots], label=objective, markersize=3)
                ax.set(xlabel="step", title=f"{TITLES[dataset]}: {label}")
        axes[0, 0].legend()
        style.save(fig, figures / "information")


def _word(agreement: float) -> str:
    word = "confirmed" if agreement >= STRICT else "contradicted" if agreement < 0 else "confirmed only in part"
    return f"{word} ({agreement:.2f})"


def _agreement(snapshots: list[dict[str, Any]], left: str, right: str, sign: int) -> float | None:
    """Spearman's rank correlation of two quantities along training, times the sign; None where one does not vary."""
    from scipy.stats import spearmanr

    a, b = [s[left] for s in snapshots], [s[right] for s in snapshots]
    if len(set(a)) < 2 or len(set(b)) < 2:
        return None
    return round(sign * float(spearmanr(a, b).statistic), 2)


EXPERIMENT = Experiment(
    title="Entropies, mutual information and information bottlenecks along training",
    datasets=("cora", "citeseer", "pubmed"),
    cells=cells,
    draw=draw,
    quick_datasets=("citeseer",),
    n_seeds=1,
)
