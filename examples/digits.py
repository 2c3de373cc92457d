"""A graph where there was none: neighbours among scikit-learn's digits, embedded, and clustered without labels.

python examples/digits.py
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import kneighbors_graph

import ccassg
from ccassg.evaluate.clustering import cluster_score


def main(n_steps: int, dim: int, n_images: int | None, n_seeds: int) -> dict[str, tuple[float, float]]:
    images, y = load_digits(return_X_y=True)
    images, y = images[:n_images] / 16, y[:n_images]
    # Every image is joined with the ten it resembles most; as_graph adds the reverse edges and says so.
    graph = ccassg.as_graph(kneighbors_graph(images, n_neighbors=10), images)
    print(graph)
    for note in graph.notes:
        print("note:", note)

    model = ccassg.CCASSG(encoder="gcn", hidden_dim=dim, embedding_dim=dim, n_steps=n_steps, random_state=0)
    embeddings = {"pixels": images, "ccassg": model.fit_transform(graph)}
    for reason in model.reasons_:
        print("chose", reason)

    found = {}
    for name, z in embeddings.items():
        score = cluster_score(z, y, seeds=range(n_seeds))
        found[name] = float(np.mean(score.nmi)), float(np.mean(score.ari))
        print(f"k-means on {name:<7} NMI {found[name][0]:.3f}  ARI {found[name][1]:.3f}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--images", type=int, default=None, help="use only the first so many")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    main(options.steps, options.dim, options.images, options.seeds)
