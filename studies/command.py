"""What the studies share on the command line; nothing of it is done twice.

A study is an `Experiment`: its runs are recorded, drawn and summed up like those of `ccassg reproduce`, with the same options. A
benchmark measures in one go and keeps its figures in a JSON file, like `ccassg bench`.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ccassg.bench.page import read_figures, write_blocks
from ccassg.cli import main
from ccassg.cli.app import check_json, write_json
from ccassg.experiments import Experiment

DOCUMENT = Path("docs/studies.md")

Docs = Annotated[Path | None, typer.Option(help="Document whose generated table to renew.")]
DrawOnly = Annotated[
    bool, typer.Option("--draw-only", help="Measure nothing: renew the document from the --json file.")
]


def run_study(name: str, study: Experiment) -> None:
    """Do one study with the options in the shell, those of `ccassg reproduce`."""
    main(["reproduce", name, *sys.argv[1:]], given=({name: study}, DOCUMENT))


def run_benchmark(
    measure: Callable[[], dict[str, Any]],
    draw: Callable[[dict[str, Any]], str],
    block: str,
    *,
    json_file: Path | None,
    docs: Path | None,
    draw_only: bool,
) -> None:
    """Measure, or read what was measured; keep the figures in ``json_file`` and draw them into a block of ``docs``."""
    if draw_only and (json_file is None or docs is None):
        raise typer.BadParameter("--draw-only needs the recorded figures and a document: --json FILE --docs FILE")
    if not draw_only:
        check_json(json_file)
    figures = read_figures(json_file) if draw_only and json_file is not None else measure()
    if not draw_only:
        write_json(json_file, figures)
    if docs is not None:
        write_blocks(docs, {block: draw(figures)})
