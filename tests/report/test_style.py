from __future__ import annotations

import numpy as np
import pytest

from ccassg.report import style

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """One figure: its SVG, its PNG and itself, and the settings of Matplotlib before and after."""
    before = dict(matplotlib.rcParams)
    made = draw(tmp_path_factory.mktemp("style") / "new" / "figure.v1")
    return (*made, before, dict(matplotlib.rcParams))


def draw(stem):
    with style.figure(1, 2) as (fig, axes):
        x = np.arange(5)
        style.band(axes[0, 0], x, x**2, np.ones(5), label="ours")
        axes[0, 0].plot(x, 2 * x, label="theirs")
        axes[0, 0].legend()
        axes[0, 0].set_title("Curves")
        values = np.array([[1.0, 2.0], [np.nan, 4.0]])
        style.heat_map(axes[0, 1], values, x_labels=["a", "b"], y_labels=[0.1, 0.2], text=".1f")
        return (*style.save(fig, stem), fig)


def test_the_same_figure_gives_the_same_files(drawn, tmp_path):
    svg, png = drawn[:2]
    assert (svg.name, png.name) == ("figure.v1.svg", "figure.v1.png")
    assert png.read_bytes().startswith(b"\x89PNG")
    text = svg.read_text(encoding="utf-8")
    assert "<svg" in text
    assert "dc:date" not in text
    again_svg, again_png, _ = draw(tmp_path / "again")
    assert again_svg.read_bytes() == svg.read_bytes()
    assert again_png.read_bytes() == png.read_bytes()


def test_curves_differ_by_more_than_colour_and_cells_show_their_values(drawn):
    fig = drawn[2]
    first, second = fig.axes[0].get_lines()
    assert first.get_color() != second.get_color()
    assert first.get_linestyle() != second.get_linestyle()
    assert first.get_marker() != second.get_marker()
    shown = {text.get_text(): text.get_color() for text in fig.axes[1].texts}
    assert shown == {"1.0": "white", "2.0": "white", "4.0": "black"}  # the missing cell has no text
    assert fig.axes[1].patch.get_hatch()


def test_the_users_own_figures_keep_their_looks(drawn):
    assert drawn[3] == drawn[4]


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_a_picture_of_somebody_else_stays(tmp_path, ending):
    for _ in range(2):
        draw(tmp_path / "ours")
    (tmp_path / f"mine.{ending}").write_text("<svg>mine</svg>")
    with pytest.raises(ValueError, match=rf"mine\.{ending} is there already and is not known to be an earlier output"):
        draw(tmp_path / "mine")
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"mine.{ending}", "ours.png", "ours.svg"]
