from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from ccassg.report.tables import beside, mean_std, to_csv, to_markdown


@pytest.mark.parametrize(
    ("values", "options", "text"),
    [
        ([83.0, 84.0, 85.0], {}, "84.0 ± 1.0"),
        ([83.0, 84.0], {"digits": 2}, "83.50 ± 0.71"),
        ([83.123], {}, "83.1"),
        ([], {}, "–"),
        ([1.0, float("nan")], {}, "–"),
    ],
)
def test_mean_std(values, options, text):
    assert mean_std(values, **options) == text


def test_markdown_is_aligned_and_puts_numbers_to_the_right():
    rows = [
        {"method": "CCA-SSG", "Cora": "83.6 ± 0.5", "n": 2708},
        {"method": "GCN", "Cora": None, "note": "supervised"},
    ]
    assert to_markdown(rows) == (
        "| method  |       Cora |     n | note       |\n"
        "| ------- | ---------: | ----: | ---------- |\n"
        "| CCA-SSG | 83.6 ± 0.5 | 2,708 | –          |\n"
        "| GCN     |          – |     – | supervised |\n"
    )


def test_markdown_keeps_hostile_cells_inside_their_cell():
    text = to_markdown([{"a|b": "x | y\nz", "c": "<script>alert(1)</script>"}])
    lines = text.splitlines()
    assert len(lines) == 3
    assert "x \\| y z" in text
    assert "<script" not in text


def test_markdown_of_numbers_truths_and_nothing():
    rows = [{"b": 0.123456, "c": True, "d": float("nan")}]
    assert to_markdown(rows).splitlines()[2].split() == ["|", "0.1235", "|", "yes", "|", "–", "|"]
    assert to_markdown([]) == ""


def test_published_values_stand_beside_ours():
    rows = [{"method": "ours", "Cora": 83.5, "seconds": 3}]
    published = {"ours": {"Cora": 84.2}, "DGI": {"Cora": 82.3, "Pubmed": 76.8}}
    found = beside(rows, published, key="method")
    assert found == [
        {"method": "ours", "Cora": 83.5, "Cora (paper)": 84.2, "seconds": 3, "Pubmed": None, "Pubmed (paper)": None},
        {"method": "DGI", "Cora": None, "Cora (paper)": 82.3, "seconds": None, "Pubmed": None, "Pubmed (paper)": 76.8},
    ]


def test_csv_comes_back_as_it_was():
    rows = [{"a": 'quote " and, comma', "b": np.float64(0.1)}, {"a": "two\nlines", "c": None}]
    text = to_csv(rows)
    assert list(csv.DictReader(io.StringIO(text))) == [
        {"a": 'quote " and, comma', "b": "0.1", "c": ""},
        {"a": "two\nlines", "b": "", "c": ""},
    ]
