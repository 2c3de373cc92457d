"""A bar on a terminal; elsewhere a line now and then, and always the last."""

import time

import pytest
from rich.console import Console
from rich.progress import DownloadColumn

from ccassg.cli import progress
from ccassg.cli.progress import make_bar, steps, working


@pytest.fixture
def terminal(monkeypatch):
    """A terminal of 100 columns that remembers what was shown."""
    console = Console(force_terminal=True, width=100, record=True)
    monkeypatch.setattr(progress, "console", console)
    return console


@pytest.fixture
def clock(monkeypatch):
    """A list whose only entry is the time in seconds."""
    now = [1000.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_short_run_elsewhere_is_one_line(capsys):
    with steps("training") as advance:
        for step in range(50):
            advance(step, 50, f"loss {-step}")
    assert capsys.readouterr().out == "training 50/50 loss -49\n"


def test_a_long_run_elsewhere_is_a_line_now_and_then(capsys, clock):
    with steps("training") as advance:
        for step in range(10):
            clock[0] += 9.0  # so that every third step comes more than 20 s after the last line
            advance(step, 10)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines == ["training 3/10", "training 6/10", "training 9/10", "training 10/10"]


def test_a_run_cut_short_says_no_last_line(capsys):
    def stopped():
        with steps("training") as advance:
            advance(0, 50)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert capsys.readouterr().out == ""


def test_a_run_that_is_resumed_or_stops_early_says_where(capsys):
    with steps("training") as advance:
        for step in range(30, 33):
            advance(step, 50)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines == ["training continues after step 30", "training 33/50"]


def test_text_is_no_markup(capsys):
    with steps("training") as advance:
        advance(0, 1, "loss [bold]1[/bold]")
    assert capsys.readouterr().out == "training 1/1 loss [bold]1[/bold]\n"


def test_a_terminal_shows_a_bar_and_no_lines(terminal, clock):
    with steps("training") as advance:
        for step in range(3):
            clock[0] += 60.0
            advance(step, 3, "loss -2.5")
    shown = terminal.export_text()
    assert "training loss -2.5" in shown
    assert "3/3" in shown
    assert "training 3/3" not in shown  # the line for what is no terminal


def test_a_bar_takes_columns_of_its_own(terminal):
    with make_bar(DownloadColumn()) as bar:
        bar.update(bar.add_task("a.npz", total=2000), completed=1000)
    shown = terminal.export_text()
    assert "a.npz" in shown
    assert "1.0/2.0 kB" in shown


def test_elsewhere_a_bar_only_counts(capsys):
    with make_bar() as bar:
        task = bar.add_task("a.npz", total=2)
        bar.update(task, completed=1)
        assert bar.tasks[0].completed == 1
    assert capsys.readouterr().out == ""


def test_a_terminal_shows_which_part_is_worked_on(terminal):
    with working("evaluating") as tell:
        tell("linear probe")
    assert "evaluating: linear probe ..." in terminal.export_text()


def test_what_takes_long_elsewhere_says_its_part_while_it_does(capsys, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.3)
    with working("evaluating") as tell:
        tell("reading")
        tell("linear probe")
        time.sleep(1.0)
        said = capsys.readouterr().out
        tell("k-means")
    with steps("training", before="fitting") as advance:
        time.sleep(1.0)
        advance(0, 1)
    time.sleep(0.5)
    assert said == "evaluating: linear probe ...\n"
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == ["fitting ...", "training 1/1"]


def test_a_terminal_shows_what_comes_before_the_steps(terminal):
    with steps("training", before="fitting"):
        pass
    assert "fitting" in terminal.export_text()
