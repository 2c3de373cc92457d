"""Complete and dimensional collapse in two dimensions, by really optimising the terms (the paper's figure on collapse)."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ccassg.evaluate.diagnostics import diagnose
from ccassg.experiments.experiment import Cells, Drawn, Experiment, Found, Plan
from ccassg.experiments.records import Run
from ccassg.model.loss import Objective, cca_ssg_loss, standardize
from ccassg.report import style

# Objective, and how its embeddings are normalised: rows onto the circle, or columns to variance 1.
CASES = {
    "alignment": "complete collapse:\nalignment alone",
    "alignment and uniformity": "even on the circle:\nalignment, uniformity",
    "invariance": "dimensional collapse:\ninvariance alone",
    "invariance and decorrelation": "no collapse:\nwith decorrelation",
}
SETTINGS = {"n_steps": 1000, "learning_rate": 1e-2, "noise": 0.5}
N_POINTS, N_CLASSES, INPUT_DIM, HIDDEN_DIM = 300, 3, 8, 32


def cells(plan: Plan) -> Cells:
    """Name one run per objective."""
    run: Run = {"task": "collapse", "dataset": "toy", "settings": SETTINGS, "seed": 0}
    return {(case,): [run | {"case": case}] for case in CASES}


def draw(found: Found, plan: Plan, figures: Path) -> Drawn | None:
    """Four panels: where the points lie after training."""
    if len(found) < len(CASES):
        return None
    done = {case: records[0]["result"] for (case,), records in found.items()}
    with style.figure(1, 4, width=9.6, height=2.9) as (fig, axes):
        for ax, (case, result) in zip(axes[0], done.items(), strict=True):
            points, kinds = np.array(result["points"]), np.array(result["classes"])
            for kind in range(N_CLASSES):
                chosen = points[kinds == kind]
                ax.plot(*chosen.T, linestyle="none", marker=style.MARKERS[kind], markersize=3, alpha=0.7)
            limit = max(1.3, 1.05 * np.abs(points).max())
            if case.startswith("alignment"):
                angles = np.linspace(0, 2 * np.pi, 200)
                circle = np.cos(angles), np.sin(angles)
                ax.plot(*circle, color="#5b6675", linewidth=0.6, marker="", linestyle="-", zorder=0)
            ax.set(title=CASES[case], xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal")
        style.save(fig, figures / "collapse")
    rows = [
        {"objective": case} | {name.replace("_", " "): value for name, value in result["measures"].items()}
        for case, result in done.items()
    ]
    notes = (
        f"{N_POINTS} points of {N_CLASSES} classes (colours; not used in training) in {INPUT_DIM} dimensions; views add "
        "noise; the encoder is a small MLP to two dimensions. Spread is the root mean square distance to the mean."
    )
    return Drawn({"": rows}, figures=("collapse",), notes=notes)


def train_points(run: Run, _dataset: None) -> dict[str, Any]:
    """Train the encoder by one objective and say where the points end."""
    generator = torch.Generator().manual_seed(run["seed"])
    x, classes = _data(generator)
    encoder = nn.Sequential(nn.Linear(INPUT_DIM, HIDDEN_DIM), nn.Tanh(), nn.Linear(HIDDEN_DIM, 2))
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / parameter.shape[-1] ** 0.5)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=run["settings"]["learning_rate"])
    for _ in range(run["settings"]["n_steps"]):
        views = [encoder(x + run["settings"]["noise"] * torch.randn(x.shape, generator=generator)) for _ in range(2)]
        loss = _loss(run["case"], views[0], views[1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        h = encoder(x)
        z = functional.normalize(h) if run["case"].startswith("alignment") else standardize(h) * len(h) ** 0.5
    points = z.double().numpy()
    correlation = np.corrcoef(points.T)[0, 1] if points.std(0).min() > 1e-6 else 1.0
    measures = {
        "final_loss": float(loss.detach()),
        "spread": float(np.sqrt(points.var(0).sum())),
        "absolute_correlation": float(abs(correlation)),
        "effective_rank": diagnose(points)["effective_rank"],
    }
    return {
        "points": points.round(4).tolist(),
        "classes": classes.tolist(),
        "measures": {name: round(value, 4) for name, value in measures.items()},
    }


def _loss(case: str, h1: Tensor, h2: Tensor) -> Tensor:
    if case.startswith("invariance"):
        return cca_ssg_loss(h1, h2, Objective(decorrelation=1.0 if "decorrelation" in case else 0.0)).loss
    z1, z2 = functional.normalize(h1), functional.normalize(h2)
    alignment = (z1 - z2).square().sum(1).mean()
    return alignment + _uniformity(z1) + _uniformity(z2) if "uniformity" in case else alignment


def _uniformity(z: Tensor) -> Tensor:
    """Logarithm of the mean Gaussian potential of all pairs (Wang and Isola, 2020)."""
    squared = torch.pdist(z).square()
    return (-2 * squared).exp().mean().log()


def _data(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Classes that differ along two directions, one clearer than the other; the rest is noise."""
    classes = torch.arange(N_POINTS) % N_CLASSES
    centres = torch.zeros(N_CLASSES, INPUT_DIM)
    centres[:, 0] = torch.tensor([-1.5, 0.0, 1.5])
    centres[:, 1] = torch.tensor([-0.5, 1.0, -0.5])
    return centres[classes] + 0.35 * torch.randn(N_POINTS, INPUT_DIM, generator=generator), classes


EXPERIMENT = Experiment(
    title="Complete and dimensional collapse in two dimensions, and what prevents them",
    datasets=("toy",),
    cells=cells,
    draw=draw,
    n_seeds=1,
)
