"""Two CSV files in, a Parquet file of embeddings out: Cora as anyone's own data would come.

    python examples/cora_from_csv.py

Writes edges.csv and nodes.csv (string ids, one column per word that a paper contains, the label), embeds them, and shows what the
program ``ccassg`` does with the same two files.
"""

import argparse
import csv
from pathlib import Path

import ccassg


def write_csv(folder: Path) -> None:
    data = ccassg.load_dataset("cora")
    names = [f"paper-{i}" for i in range(data.graph.n_nodes)]
    adjacency = data.graph.adjacency().tocoo()
    with open(folder / "edges.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["source", "target"])
        # An undirected edge need not be written twice.
        writer.writerows((names[i], names[j]) for i, j in zip(adjacency.row, adjacency.col, strict=True) if i < j)
    words = data.graph.features.toarray()
    with open(folder / "nodes.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *(f"word{j}" for j in range(words.shape[1])), "label"])
        for name, row, c in zip(names, words, data.y, strict=True):
            writer.writerow([name, *(f"{value:.6g}" for value in row), data.class_names[c]])


def main(folder: Path, n_steps: int, dim: int, n_seeds: int) -> float:
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(folder)
    data = ccassg.read_graph(folder / "edges.csv", folder / "nodes.csv")
    print(data.graph)
    for note in data.notes:
        print("note:", note)

    model = ccassg.CCASSG(encoder="gcn", n_steps=n_steps, hidden_dim=dim, embedding_dim=dim, random_state=0)
    z = model.fit_transform(data)
    ccassg.write_embeddings(folder / "embedding.parquet", z, data.ids)
    model.save(folder / "model")

    result = ccassg.linear_probe(z, data, seeds=range(n_seeds))
    print(f"linear probe on random splits of 10/10/80 %: {100 * result.accuracy:.1f} ± {100 * result.std:.1f} %")
    near, scores = ccassg.most_similar(z, 0, k=3)
    print("nearest to", data.ids[0], [(data.ids[i], round(float(s), 3)) for i, s in zip(near, scores, strict=True)])  # fmt: skip
    print(
        f"the same by the program: ccassg fit {folder}/edges.csv --features {folder}/nodes.csv -o my-model --set encoder=gcn"
    )
    return float(result.accuracy)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("cora-csv"))
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    main(options.folder, options.steps, options.dim, options.seeds)
