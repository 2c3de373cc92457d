"""`ccassg evaluate`, `ccassg similar` and `ccassg report`: look at embeddings."""

from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import typer

from ccassg.cli.app import JsonFile, app, console, say, write_json
from ccassg.cli.links import score_links

EmbeddingsArgument = Annotated[
    Path, typer.Argument(metavar="EMBEDDINGS", help="An embedding file, or a folder written by ccassg fit.")
]
LabelsOption = Annotated[Path | None, typer.Option("--labels", "-l", help="Table with ids and labels.")]


@app.command()
def evaluate(
    embeddings: EmbeddingsArgument,
    labels: LabelsOption = None,
    label_column: Annotated[str | None, typer.Option(help="Column of the label table.")] = None,
    id_column: Annotated[str | None, typer.Option(help="Column of the label table.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Random splits and probes.")] = 5,
    links: Annotated[bool, typer.Option("--links", help="Train again without some edges, and find those.")] = False,
    json_file: JsonFile = None,
) -> None:
    """Score an embedding: diagnostics always; linear probe, k-means and nearest neighbours where there are labels.

    Example: ccassg evaluate my-model --labels nodes.csv --label-column class
    """
    from ccassg import run
    from ccassg.evaluate.summary import summarize
    from ccassg.io.labels import read_labelled

    if links:
        return score_links(embeddings, seeds, json_file)
    z, ids, y, _ = read_labelled(embeddings, labels, id_column=id_column, label_column=label_column)
    result = summarize(z, y, n_seeds=seeds)
    write_json(json_file, result)
    found = result["diagnostics"]
    say(f"{len(ids):,} nodes x {z.shape[1]} dimensions")
    say(f"effective rank          {found['effective_rank']:.1f} of {z.shape[1]}")
    say(f"mean |correlation|      {found['off_diagonal_correlation']:.3f} between dimensions")
    say(f"uniformity              {found['uniformity']:.3f}")
    for warning in found["warnings"]:
        say(f"warning: {warning}")
    is_run = (embeddings / run.RUN).is_file()
    if label_column is not None and is_run and run.read_run(embeddings).had_feature(label_column):
        say(
            f"warning: {label_column!r} was a feature of this model, so it scores its own input; fit again with "
            f"--label-column {label_column}"
        )
    for note in [*result.get("notes", ()), *result.get("probe", {}).get("logistic", {}).get("notes", ())]:
        say(f"note: {note}")
    if "probe" in result:
        probe, convex, clusters = result["probe"], result["probe"]["logistic"], result["clustering"]
        say(f"linear probe over {seeds} random splits")
        say(f"  paper's probe         {_percent(probe)}: Adam, 2000 epochs")
        say(f"  logistic regression   {_percent(convex)}: strength chosen on validation")
        say(f"macro F1                {100 * fmean(probe['macro_f1']):.2f} % of the paper's probe")
        say(f"k-means                 NMI {clusters['nmi']:.3f}, ARI {clusters['ari']:.3f}")
        say(f"10 nearest neighbours   {100 * result['knn']:.2f} %")
    elif y is None:
        say("no labels were given (--labels), so nothing was scored against them")


def _percent(probe: dict[str, Any]) -> str:
    return f"{100 * probe['accuracy']:.2f} ± {100 * probe['std']:.2f} %"


@app.command()
def similar(
    embeddings: EmbeddingsArgument,
    node: Annotated[str, typer.Argument(metavar="ID", help="The node's own id.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many.")] = 10,
    metric: Annotated[str, typer.Option(help="cosine, dot or euclidean.")] = "cosine",
    labels: LabelsOption = None,
    json_file: JsonFile = None,
) -> None:
    """List the nodes whose embeddings are nearest to one node's.

    Example: ccassg similar my-model 1110563 -k 5
    """
    from rich.table import Table
    from rich.text import Text

    from ccassg.evaluate.neighbours import most_similar
    from ccassg.io.labels import find_id, read_labelled

    z, ids, y, class_names = read_labelled(embeddings, labels)
    position = find_id(ids, node)
    indices, scores = most_similar(z, position, k=min(k, len(z) - 1), metric=metric)
    rows: list[dict[str, Any]] = [
        {"id": ids[i].item() if hasattr(ids[i], "item") else ids[i], metric: round(float(score), 4)}
        | ({} if y is None or class_names is None else {"label": class_names[y[i]] if y[i] >= 0 else None})
        for i, score in zip(indices.ravel(), scores.ravel(), strict=True)
    ]
    write_json(json_file, rows)
    table = Table(*rows[0], box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text("" if value is None else str(value)) for value in row.values()))
    console.print(table, markup=False, highlight=False)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A folder written by ccassg fit.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
    seeds: Annotated[int, typer.Option(min=1, help="Probes, where there are labels.")] = 5,
) -> None:
    """Write one self-contained page: map, curves, spectrum, probe, settings. It asks nothing of any host.

    Example: ccassg report my-model -o report.html
    """
    from ccassg import run
    from ccassg.io.atomic import require_replaceable
    from ccassg.report.page import is_page, write_page

    require_replaceable(output, is_page)
    write_page(output, run.page(folder, seeds))
    say(f"wrote {output} ({output.stat().st_size / 1e6:.1f} MB); open it in a browser")
