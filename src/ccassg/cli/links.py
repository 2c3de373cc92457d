"""`ccassg links`, and what `ccassg evaluate --links` does."""

from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from ccassg.cli.app import JsonFile, app, console, say, write_json
from ccassg.cli.progress import steps


@app.command()
def links(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A folder of ccassg fit; its graph is read again.")],
    node: Annotated[str | None, typer.Argument(metavar="ID", help="Only edges of this node.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many.")] = 20,
    json_file: JsonFile = None,
) -> None:
    """List the edges that are most likely missing, with the probability of each.

    Probabilities assume that half of all pairs are edges; use them for ranking only.

    Example: ccassg links my-model 1110563 -k 5
    """
    from ccassg.evaluate.links import suggest_links
    from ccassg.io.ids import id_array
    from ccassg.io.results import find_id, read_labelled
    from ccassg.run import read_run

    z, ids, *_ = read_labelled(model)
    position = None if node is None else find_id(ids, node)
    with console.status("looking for links"):
        data = read_run(model).open_graph()
        if not id_array(data.ids).equals(id_array(ids)):
            again = f"make it again with: ccassg fit GRAPH -o {model}"
            raise ValueError(f"the graph has other nodes than when {model} was made; {again}")
        pairs, scores = suggest_links(z, data, position, k)
    found = zip(ids[pairs].tolist(), scores.tolist(), strict=True)
    rows = [{"from": a, "to": b, "score": round(score, 4)} for (a, b), score in found]
    write_json(json_file, rows)
    table = Table("from", "to", "score", box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(str(value)) for value in row.values()))
    console.print(table, markup=False, highlight=False)


def score_links(folder: Path, seeds: int, json_file: Path | None) -> None:
    """Print how well a model's settings find edges that were held out before training, beside simple rules."""
    import numpy as np

    from ccassg import systems
    from ccassg.evaluate.links import link_scores
    from ccassg.report.tables import mean_std
    from ccassg.run import read_run

    data, model, found = read_run(folder).open_graph(), systems.load(folder), []
    with steps("training without some edges") as advance:
        for seed in range(seeds):
            found.append(link_scores(model, data, seed))
            advance(seed, seeds)
    write_json(json_file, found)
    for name in found[0]:
        auc, precision, hits = 100 * np.array([list(one[name].values())[:3] for one in found], np.float64).T
        say(f"{name:<18} AUC {mean_std(auc)}   average precision {mean_std(precision)}   hits@50 {mean_std(hits)}")
    best = max(found[0], key=lambda name: fmean(one[name]["auc"] for one in found))
    if best != "embedding":
        say(f"note: {best} has a higher AUC than the embedding's own score")
