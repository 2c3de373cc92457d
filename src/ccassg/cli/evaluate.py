"""`ccassg evaluate`, `ccassg similar` and `ccassg report`: look at embeddings."""

from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import typer

from ccassg.cli.app import JsonFile, app, console, say, say_notes, write_json
from ccassg.cli.links import score_links
from ccassg.cli.progress import working

EmbeddingsArgument = Annotated[
    Path, typer.Argument(metavar="EMBEDDINGS", help="An embedding file, or a folder written by ccassg fit.")
]
LabelsOption = Annotated[Path | None, typer.Option("--labels", "-l", help="Table with ids and labels.")]


@app.command()
def evaluate(
    embeddings: EmbeddingsArgument,
    labels: LabelsOption = None,
    label_column: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the label table.")] = None,
    id_column: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the label table.")] = None,
    graph: Annotated[
        str | None,
        typer.Option(metavar="GRAPH", help="The graph, for its raw features; by default the one that was fitted."),
    ] = None,
    features: Annotated[Path | None, typer.Option("--features", "-f", help="Node table or matrix of --graph.")] = None,
    probe: Annotated[str, typer.Option(help="logistic, or adam as in the paper, which is slower.")] = "logistic",
    seeds: Annotated[int, typer.Option(min=1, help="Random splits.")] = 5,
    links: Annotated[bool, typer.Option("--links", help="Train again without some edges, and find those.")] = False,
    json_file: JsonFile = None,
) -> None:
    """Score an embedding: diagnostics always; with labels a linear probe beside raw features and the largest class.

    Example: ccassg evaluate my-model --labels nodes.csv --label-column class
    """
    from ccassg import run, scoring
    from ccassg.io.graphs import open_graph

    if links:
        return score_links(embeddings, seeds, json_file)
    if probe not in ("logistic", "adam"):
        raise ValueError(f"--probe must be logistic or adam, got {probe!r}")
    if features is not None and graph is None:
        raise ValueError("--features are those of a graph; name it with --graph")
    with working("evaluating") as tell:
        tell("reading")
        result = scoring.score(
            embeddings,
            labels=labels,
            id_column=id_column,
            label_column=label_column,
            graph=None if graph is None else open_graph(graph, features=features),
            n_seeds=seeds,
            solver=probe,  # type: ignore[arg-type]
            on_part=tell,
        )
    write_json(json_file, result)
    found = result["diagnostics"]
    say(f"{result['nodes']:,} nodes x {result['dimensions']} dimensions")
    if "labels" in result:
        unknown = result.get("unknown_ids", 0)
        which = "1 id" if unknown == 1 else f"{unknown:,} ids"
        beside = f"; {which} in {labels} {'is' if unknown == 1 else 'are'} not in the graph" if unknown else ""
        say(f"{result['labels']:,} of {result['nodes']:,} nodes have a label{beside}")
    say(f"effective rank          {found['effective_rank']:.1f} of {result['dimensions']} (how many are really used)")
    say(
        f"mean |correlation|      {found['off_diagonal_correlation']:.3f} (between dimensions; 0: none says what another does)"
    )
    if "probe" in result:
        _say_scores(result, probe)
    elif "regression" in result:
        _say_regression(result)
    elif "labels" not in result:
        say("no labels were given (--labels), so nothing was scored against them")
    for warning in result["warnings"]:
        say(f"warning: {warning}")
    is_run = (embeddings / run.RUN).is_file()
    if label_column is not None and is_run and run.read_run(embeddings).had_feature(label_column):
        say(
            f"warning: {label_column!r} was a feature of this model, so it scores its own input; fit again with "
            f"--label-column {label_column}"
        )
    say_notes([*result.get("notes", ()), *result.get("probe", {}).get("notes", ()), *result["asides"]])


def _say_scores(result: dict[str, Any], probe: str) -> None:
    """Print what the probe reached, and what the same probe reaches without the embedding."""
    of_embedding, clusters, n_classes = result["probe"], result["clustering"], len(result["classes"])
    how = "logistic regression, strength" if probe == "logistic" else "2000 epochs of Adam, the best one"
    n = of_embedding["n_runs"]
    random = f"{n} random split{'s' * (n > 1)} of 10/10/80 %"
    splits = random if result["random_splits"] else "the dataset's own split"
    two = n_classes == 2
    say(f"linear probe of {n_classes} classes, {splits} ({how} chosen on validation)")
    say(f"  {'':22}{'accuracy':18}{'macro F1':10}{'ROC AUC' if two else ''}".rstrip())
    rows = {"embedding": of_embedding, "raw features": result.get("raw_features")}
    for name, found in rows.items():
        if found is not None:
            area = f"{fmean(found['roc_auc']):.3f}" if two else ""
            say(f"  {name:22}{_percent(found):18}{100 * fmean(found['macro_f1']):.2f} %   {area}".rstrip())
    largest = result["largest_class"]
    area = "0.500" if two else ""
    say(
        f"  {'largest class':22}{100 * largest['accuracy']:.2f} %{'':11}{100 * largest['macro_f1']:.2f} %   {area}".rstrip()
    )
    if result["knn"] is not None:
        say(f"  {result['k_neighbours']} nearest neighbours {100 * result['knn']:.2f} %")
    say(
        f"k-means                 NMI {clusters['nmi']:.3f}, ARI {clusters['ari']:.3f} (1: clusters are the classes; 0: chance)"
    )


def _say_regression(result: dict[str, Any]) -> None:
    say(f"ridge regression on {result['regression']['n_runs']} random splits, strength chosen on validation")
    for name, key in (("embedding", "regression"), ("raw features", "raw_features")):
        if key in result:
            spread = f" ± {result[key]['std']:.3f}" if result[key]["n_runs"] > 1 else ""
            say(f"  {name:22}R^2 {result[key]['r2']:.3f}{spread}")
    say(f"  {'mean of the target':22}R^2 0.000")


def _percent(probe: dict[str, Any]) -> str:
    spread = f" ± {100 * probe['std']:.2f}" if probe["n_runs"] > 1 else ""
    return f"{100 * probe['accuracy']:.2f}{spread} %"


@app.command()
def similar(
    embeddings: EmbeddingsArgument,
    nodes: Annotated[list[str], typer.Argument(metavar="ID...", help="The nodes' own ids.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many.")] = 10,
    metric: Annotated[str, typer.Option(help="cosine, dot or euclidean.")] = "cosine",
    labels: LabelsOption = None,
    names: Annotated[
        Path | None, typer.Option(help="Table with ids and names; by default the node table that was fitted.")
    ] = None,
    name_column: Annotated[str | None, typer.Option(help="Column to show beside the id.")] = None,
    json_file: JsonFile = None,
) -> None:
    """List the nodes whose embeddings are nearest to one node's, or to each of several.

    Example: ccassg similar my-model 1110563 -k 5
    """
    from rich.table import Table
    from rich.text import Text

    from ccassg.evaluate.neighbours import most_similar
    from ccassg.io.results import find_id, read_labelled, read_names

    z, ids, y, class_names, _ = read_labelled(embeddings, labels)
    asked = [find_id(ids, node) for node in nodes]
    indices, scores = most_similar(z, asked, k=min(k, len(z) - 1), metric=metric)
    met = [*asked, *indices.ravel().tolist()]
    found = read_names(embeddings, ids[met], names, column=name_column)
    named = {} if found is None else dict(zip(met, found, strict=True))

    def about(i: int) -> dict[str, Any]:
        own = {"id": ids[i].item() if hasattr(ids[i], "item") else ids[i]}
        return own | ({"name": named[i]} if i in named else {})

    rows: list[dict[str, Any]] = [
        ({"of": about(of)["id"]} if len(asked) > 1 else {})
        | about(i)
        | {metric: round(float(score), 4)}
        | ({} if y is None or class_names is None else {"label": class_names[y[i]] if y[i] >= 0 else None})
        for of, nearest, values in zip(asked, indices, scores, strict=True)
        for i, score in zip(nearest.tolist(), values, strict=True)
    ]
    write_json(json_file, rows)
    for of in asked if named else ():
        say(f"{about(of)['id']}: {named[of] or ''}")
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
    """Write one self-contained page: map, curves, spectrum, probe, settings. It needs no network.

    Example: ccassg report my-model -o report.html
    """
    from ccassg import scoring
    from ccassg.io.atomic import require_replaceable
    from ccassg.report.page import is_page, write_page

    require_replaceable(output, is_page)
    with working("report") as tell:
        tell("scores")
        data = scoring.page(folder, seeds)
        tell("map and neighbours")
        write_page(output, data)
    say(f"wrote {output} ({output.stat().st_size / 1e6:.1f} MB); open it in a browser")
