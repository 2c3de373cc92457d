"""From the recorded figures of `ccassg bench` to the tables and the picture in a document; nothing is measured."""

from pathlib import Path
from typing import Any

from ccassg.datasets import DATASETS
from ccassg.experiments.documents import replace_block, short_commit
from ccassg.experiments.published import TITLES
from ccassg.io.files import read_json
from ccassg.report import style
from ccassg.report.tables import to_markdown


def write_page(result: dict[str, Any], document: Path) -> None:
    """Renew the blocks of a Markdown file that show these figures, and the picture ``figures/speed`` beside it."""
    blocks = {"bench": _steps, "bench-busy": _busy, "bench-accuracy": _accuracy, "bench-growth": _growth}
    write_blocks(document, {name: table(result) for name, table in blocks.items()})
    draw(result, document.parent / "figures" / "speed")


def write_blocks(document: Path, blocks: dict[str, str]) -> None:
    """Replace the generated blocks of a Markdown file; ValueError if it has no place for one."""
    for name, body in blocks.items():
        if not replace_block(document, name, body):
            raise ValueError(
                f"{document} has no place for the table: a line <!-- begin: {name} --> and <!-- end: {name} -->"
            )


def read_figures(path: Path) -> dict[str, Any]:
    """Return the figures that an earlier benchmark wrote."""
    try:
        result = read_json(path)
    except ValueError:
        result = None
    if not isinstance(result, dict) or "provenance" not in result:
        raise ValueError(f"{path} does not hold the figures of ccassg bench; measure them with --json {path}")
    return result


def updated(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return the old figures with those measured now in their place, in the order of the datasets."""
    rows = {row["dataset"]: row for row in (*old["datasets"], *new["datasets"])}
    return old | new | {"datasets": [rows[name] for name in DATASETS if name in rows]}


def origin(result: dict[str, Any]) -> str:
    """Return one line: the commits, versions and machine of recorded figures."""
    source = result["provenance"]
    commits = [row["commit"] for row in result.get("datasets", ()) if "commit" in row] or [source["commit"]]
    which = ", ".join(dict.fromkeys(short_commit(commit) for commit in commits))
    machine = source["machine"]
    threads = source.get("threads", machine["threads"])
    return (
        f"<small>Commit {which}; torch {source['versions']['torch']}; {machine['cpus']} CPUs "
        f"({machine['processor']}), {threads} thread{'' if threads == 1 else 's'}.</small>"
    )


def draw(result: dict[str, Any], stem: Path) -> None:
    """Ratios per dataset, and the growth of time and memory with the graph."""
    rows, growth = result["datasets"], result.get("growth", {})
    with style.figure(1, 3 if growth else 1, width=9.0 if growth else 4.5, height=2.8) as (fig, axes):
        ax = axes[0, 0]
        names = [TITLES[row["dataset"]] for row in rows]
        for offset, kind, colour in ((-0.2, "exact", style.COLOURS[0]), (0.2, "fast", style.COLOURS[1])):
            places = [i + offset for i in range(len(names))]
            ax.barh(places, [row[kind]["ratio"] for row in rows], height=0.38, color=colour, label=kind)
        ax.set(xscale="log", title="Step, times faster")
        ax.set_yticks(range(len(names)), names)
        ax.set_xticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
        ax.invert_yaxis()
        ax.legend(loc="upper right")
        curves = (("step_seconds", 1.0, "Seconds per step"), ("peak_memory", 1e-9, "Peak memory, GB"))
        for ax, (key, scale, title) in zip(axes[0, 1:], curves, strict=False):
            nodes = [row["nodes"] for row in growth["rows"]]
            ax.plot(nodes, [scale * row[key] for row in growth["rows"]])
            ax.set(xscale="log", yscale="log", xlabel="nodes", title=title)
            low, high = ax.get_ylim()
            ticks = [value * 10.0**k for k in range(-4, 5) for value in (1, 2, 5) if low <= value * 10.0**k <= high]
            ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
            ax.minorticks_off()
        style.save(fig, stem)


def _steps(result: dict[str, Any]) -> str:
    rows = [
        {
            "dataset": TITLES[row["dataset"]],
            "textbook, ms": f"{1e3 * row['textbook']['step_seconds']:.0f}",
            "exact, ms": f"{1e3 * row['exact']['step_seconds']:.0f}",
            "times faster": f"{row['exact']['ratio']:.1f}",
            "fast, ms": f"{1e3 * row['fast']['step_seconds']:.1f}",
            "times faster ": f"{row['fast']['ratio']:.1f}",
            "peak memory, GB: textbook": f"{row['textbook']['peak_memory'] / 1e9:.2f}",
            "exact": f"{row['exact']['peak_memory'] / 1e9:.2f}",
            "fast": f"{row['fast']['peak_memory'] / 1e9:.2f}",
        }
        for row in result["datasets"]
    ]
    parts = [to_markdown(rows).rstrip()]
    if probes := result.get("probes"):
        parts.append(
            f"The linear evaluation of {probes['n_seeds']} runs on Cora took {probes['seconds']:.1f} s, as long as "
            f"{probes['textbook_probes']:.1f} runs of the textbook's loop."
        )
    return "\n\n".join([*parts, origin(result)]) + "\n"


def _busy(result: dict[str, Any]) -> str:
    """How much longer a step takes beside another process."""
    rows = []
    for row in result["datasets"]:
        if "busy_ratio" in row["exact"]:
            cells = {"dataset": TITLES[row["dataset"]]}
            for kind in ("textbook", "exact", "fast"):
                cells[f"{kind}: idle, ms"] = f"{1e3 * row[kind]['step_seconds']:.0f}"
                cells[f"{kind}: busy, ms"] = f"{1e3 * row[kind]['busy_step_seconds']:.0f}"
                cells[f"{kind}: times longer"] = f"{row[kind]['busy_ratio']:.1f}"
            rows.append(cells)
    return "\n\n".join([to_markdown(rows).rstrip(), origin(result)]) + "\n" if rows else "Not recorded.\n"


def _accuracy(result: dict[str, Any]) -> str:
    """Whole fits, and the accuracy that they reach."""
    rows = []
    for row in result["datasets"]:
        if "val" in row["exact"]:
            cells = {"dataset": TITLES[row["dataset"]]}
            for kind in ("textbook", "exact", "fast"):
                cells[f"{kind}: steps"] = str(row[kind]["n_steps"])
                cells[f"{kind}: s"] = f"{row[kind]['fit_seconds']:.1f}"
            for part, title in (("val", "validation"), ("test", "test")):
                for kind in ("exact", "fast"):
                    cells[f"{title}, {kind}"] = f"{row[kind][part]['mean']:.2f} ± {row[kind][part]['error']:.2f}"
            rows.append(cells)
    if not rows:
        return "Not recorded.\n"
    counts = sorted({row["fast"]["val"]["n_seeds"] for row in result["datasets"] if "val" in row["fast"]})
    text = f"Accuracy in percent, mean and standard error over {' or '.join(map(str, counts))} seeds."
    return "\n\n".join([to_markdown(rows).rstrip(), text, origin(result)]) + "\n"


def _growth(result: dict[str, Any]) -> str:
    growth = result.get("growth")
    if growth is None:
        return "Not recorded.\n"
    parts = [*_series(growth, "ms per step", "{:.0f}", 1e3)]
    parts.append("![Step times against the textbook, and growth with the graph](figures/speed.svg)")
    if whole := result.get("growth_default"):
        parts += ["With nothing named, from the graph to the embedding:", *_series(whole, "seconds", "{:.1f}", 1.0)]
    return "\n\n".join([*parts, origin(result)]) + "\n"


def _series(growth: dict[str, Any], title: str, shown: str, scale: float) -> tuple[str, str]:
    """The table of a series, and a sentence on its slopes."""
    rows = [
        {
            "nodes": f"{row['nodes']:,}",
            title: shown.format(scale * row["step_seconds"]),
            "peak memory, GB": f"{row['peak_memory'] / 1e9:.2f}",
        }
        for row in growth["rows"]
    ]
    text = f"Time grows with the exponent {growth['time_exponent']:.2f}, memory with {growth['memory_exponent']:.2f}."
    return to_markdown(rows).rstrip(), text
