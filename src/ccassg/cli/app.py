"""What every command shares: the application, the console, and how a failure looks."""

import json
import os
import re
import shlex
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

from ccassg import memory

# The groups of a long help, below the options that people need first; and what stands for a value.
GROUPS = {
    "Input": ("ids", "directed", "encoding", "data_dir"),
    "Columns": ("source", "target", "weight", "feature_columns", "keep", "scale"),
    "Method": ("method", "preset", "settings", "seed", "device", "probe", "seeds", "links", "hours", "jobs", "rounds", "threads", "busy", "to_accuracy"),
    "Output": ("checkpoint_every", "parts", "overwrite", "results", "docs", "update", "draw_only", "json_file"),
}  # fmt: skip
VALUES = {"bool": "", "path": "PATH", "int": "N", "int range": "N", "str": "NAME"}


class _Commands(TyperGroup):
    """Commands whose help names no types, and has its options in groups where there are more than eight."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            options: list[Any] = [option for option in command.get_params(ctx) if option.param_type_name == "option"]
            for option in options:
                if option.metavar is None and hasattr(option, "display_type"):  # an older Typer has none
                    option.metavar = VALUES.get(option.display_type(ctx).strip("<>"))
                if len(options) > 8:
                    option.rich_help_panel = next((name for name in GROUPS if option.name in GROUPS[name]), None)
        return command


# What several processes do together.
TOGETHER = ("fit", "embed")
STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1")


app = typer.Typer(
    name="ccassg",
    cls=_Commands,
    help="Node embeddings for a graph with features, learned without labels by CCA-SSG.",
    no_args_is_help=True,
    invoke_without_command=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class _Console(Console):
    """A console whose reader may leave (``ccassg fit ... | head -1``): that is no reason to lose the work."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


console = _Console()
error_console = _Console(stderr=True)


@app.callback()
def options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show the versions of what matters.", is_eager=True)
    ] = False,
) -> None:
    """Node embeddings for a graph with features, learned without labels by CCA-SSG."""
    if version:
        from ccassg.provenance import versions

        for name, number in sorted(versions().items(), key=lambda item: (item[0] != "ccassg", item[0])):
            say(f"{name} {number}")
        raise typer.Exit
    is_first = "WORLD_SIZE" not in os.environ or os.environ.get("RANK", "0") == "0"
    if context.invoked_subcommand not in TOGETHER and not is_first:
        raise typer.Exit  # of the processes that torchrun started, one does this alone


DataDir = Annotated[Path | None, typer.Option(help="Folder with the datasets' files; else CCASSG_DATA.")]


def check_json(path: Path | None) -> Path | None:
    """Refuse, before the work, a place where --json must not write; return what was given.

    Where the result goes to standard output, everything else goes to standard error.
    """
    from ccassg.io.atomic import require_replaceable

    if str(path) in STANDARD_OUTPUT:
        console.stderr = True
    # A folder that is not there may be the one that the command makes.
    elif path is not None and path.absolute().parent.is_dir() and not _is_stream(path):
        require_replaceable(path, is_result)
    return path


JsonFile = Annotated[
    Path | None,
    typer.Option("--json", help="Also write the result to this file as JSON; - prints it.", callback=check_json),
]


def say(text: str) -> None:
    """Print one line as it is: nothing in it is taken for markup."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def say_notes(notes: Iterable[str]) -> None:
    """Print what was guessed, merged or left out while reading."""
    for note in notes:
        say(f"note: {as_options(note)}")


def as_options(text: str) -> str:
    """Return a message of the library in the program's terms: `` `label_column` `` becomes ``--label-column``."""

    def option(found: re.Match[str]) -> str:
        name, value = found[1].replace("_", "-"), found[2]
        if value == "False":
            return f"--no-{name}"
        return f"--{name}" if value in (None, "True") else f"--{name} {value}"

    return re.sub(r"`([a-z]+(?:_[a-z]+)*)(?:='?([\w-]+)'?)?`", option, text)


def write_json(path: Path | None, result: Any) -> None:
    """Write a command's result where --json asked for it, in place of nothing but an earlier one."""
    if path is None:
        return
    from ccassg.io.atomic import blank, require_replaceable, sealed, write_bytes_atomic

    rows = result if isinstance(result, dict) else {"rows": result}
    mark = {"written_by": blank("result")}
    # Twice: the rows may be those of an earlier file, with its mark.
    content = sealed(json.dumps(mark | rows | mark, indent=2, default=str) + "\n", "result")
    if str(path) in STANDARD_OUTPUT:
        _Console().out(content.decode(), end="", highlight=False)
        return
    if _is_stream(path):  # nothing to keep whole
        path.write_bytes(content)
        return
    require_replaceable(path, is_result)
    write_bytes_atomic(path, content)


def is_result(path: Path) -> bool:
    """Tell whether a file is as `write_json` left it."""
    from ccassg.io.atomic import is_sealed

    return is_sealed(path, "result")


def _is_stream(path: Path) -> bool:
    """Whether it is a pipe, a device or the like."""
    return path.exists() and not path.is_file() and not path.is_dir()


def main(arguments: list[str] | None = None, given: object = None) -> None:
    """Run the program: bad input ends with one sentence and exit code 2, a run that diverges with 1, Ctrl-C with 130.

    By default with the arguments of the shell; ``given`` is for the command that they name.
    """
    console.stderr = False
    try:
        code = app(arguments, standalone_mode=False, prog_name="ccassg", obj=given)
        if code == 130:  # what Typer makes of Ctrl-C, without a word
            error_console.print("Interrupted.")
    except typer.Exit as stop:
        code = stop.exit_code
    except (KeyboardInterrupt, typer.Abort):
        error_console.print("Interrupted.")
        code = 130
    except (ArithmeticError, ValueError, OSError, ImportError) as error:
        error_console.print(f"[bold red]Error:[/] {_sentence(error)}", highlight=False, soft_wrap=True)
        code = 1 if isinstance(error, ArithmeticError) else 2  # 1: the loss is not finite, no input was wrong as such
    except Exception as error:
        code = 2
        if memory.is_exhausted(error):
            error_console.print(f"[bold red]Error:[/] {_exhausted(error, arguments)}", highlight=False, soft_wrap=True)
            sys.exit(code)
        if not hasattr(error, "format_message"):  # not one of click's usage errors
            raise
        if type(error).__name__ != "NoArgsIsHelpError":  # then the help is on the screen already
            error_console.print(f"[bold red]Error:[/] {_usage(error)}", highlight=False, soft_wrap=True)
    sys.exit(code if isinstance(code, int) else 0)


def _usage(error: Any) -> str:
    """Return what click says of a wrong command line, and the help to look at."""
    context = getattr(error, "ctx", None)
    program = context.command_path if context is not None else app.info.name
    return escape(f"{error.format_message().rstrip('.')}; see {program} --help")


def _exhausted(error: Exception, arguments: list[str] | None) -> str:
    """Return what needed more memory than there is: what the library named, else the command."""
    if "needs more memory than there is" in str(error):
        return escape(str(error))
    command = shlex.join(["ccassg", *(sys.argv[1:] if arguments is None else arguments)])
    return escape(f"{textwrap.shorten(command, 200)} needs more memory than there is ({memory.why(error)})")


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return escape(f"{error.filename}: {error.strerror}" if error.filename else error.strerror)
    return escape(as_options(str(error)))
