"""Single cells: AnnData in, obsm["X_ccassg"] out, clusters against the given cell types beside those of PCA.

    python examples/single_cells.py --picture single-cells.png --json single-cells.json

The data is scanpy's embedded pbmc68k_reduced: 700 blood cells, 765 genes, a neighbour graph. Both embeddings have the same width,
and labels are used for the comparison only. Needs the extra ``anndata`` and, for the picture, ``plot``.
"""

import argparse
import json
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import ccassg
from ccassg.evaluate.clustering import cluster_score
from ccassg.provenance import commit, machine, versions


def main(n_steps: int, dim: int, n_seeds: int, picture: Path | None, record: Path | None = None) -> dict[str, Any]:
    import scanpy as sc

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the old file format the data comes in
        adata = sc.datasets.pbmc68k_reduced()
    graph = ccassg.as_graph(adata)  # genes are features, scanpy's connectivities are weights of edges
    print(graph)
    y = adata.obs["bulk_labels"].cat.codes.to_numpy().astype(int)
    seeds = range(n_seeds)
    found = {"PCA": [cluster_score(adata.obsm["X_pca"][:, :dim], y, seeds=seed) for seed in seeds], "CCA-SSG": []}
    for seed in seeds:
        # The edges were made from these very genes, so that there are no own features to keep apart from them.
        model = ccassg.CCASSG(encoder="gcn", hidden_dim=2 * dim, embedding_dim=dim, n_steps=n_steps, random_state=seed)
        adata.obsm["X_ccassg"] = model.fit_transform(graph)
        found["CCA-SSG"].append(cluster_score(adata.obsm["X_ccassg"], y, seeds=seed))
    listed = {}
    for name, scores in found.items():
        listed[name] = {"nmi": [score.nmi[0] for score in scores], "ari": [score.ari[0] for score in scores]}
        shown = (f"{k.upper()} {np.mean(values):.3f} ± {np.std(values):.3f}" for k, values in listed[name].items())
        print(f"{name:<8} {'  '.join(shown)}  ({n_seeds} seeds)")
    if picture is not None:
        draw(adata, dim, picture)
    if record is not None:
        settings = {"n_steps": n_steps, "dimensions": dim, "seeds": list(seeds), "settings": model.settings_}
        made = {"commit": commit(), "versions": versions() | {"scanpy": version("scanpy")}, "machine": machine(1)}
        record.write_text(json.dumps(settings | made | {"scores": listed}, indent=1, default=str) + "\n")
    return listed


def draw(adata: Any, dim: int, picture: Path) -> None:
    from matplotlib.figure import Figure
    from sklearn.manifold import TSNE

    figure = Figure(figsize=(10, 4.6), layout="constrained")
    panels = {"PCA": adata.obsm["X_pca"][:, :dim], "CCA-SSG": adata.obsm["X_ccassg"]}
    for axes, (title, z) in zip(figure.subplots(1, 2), panels.items(), strict=True):
        places = TSNE(init="pca", random_state=0).fit_transform(z)
        for kind in adata.obs["bulk_labels"].cat.categories:
            axes.scatter(*places[(adata.obs["bulk_labels"] == kind).to_numpy()].T, s=7, label=kind)
        axes.set(title=f"{title}, {dim} dimensions", xticks=[], yticks=[])
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center", fontsize=8, frameon=False)
    figure.savefig(picture, dpi=100)
    print(f"wrote {picture}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--dim", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--picture", type=Path, default=None)
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    main(options.steps, options.dim, options.seeds, options.picture, options.json)
