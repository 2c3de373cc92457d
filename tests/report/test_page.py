"""The page's text, and the page in a real browser (skipped where Debian's chromium or playwright is missing)."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from ccassg.datasets import stochastic_block_graph
from ccassg.estimator import CCASSG
from ccassg.evaluate.probe import linear_probe
from ccassg.report import page, payload, write_report
from ccassg.report.data import ReportData
from ccassg.report.page import write_page

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE = [
    "<script>window.pwned=1</script>",
    "</script><script>window.pwned=1</script>",
    "<img src=x onerror='window.pwned=1'>",
    '"><svg onload="window.pwned=1">',
    "'\"`${window.pwned=1}`",
    "%%script%%",
    "<!--<script>",
    "line\u2028separator\u2029and\nnewline\x00nul",
    "מזהה שמאלה \u202e reversed",
    "数据 🧬 é",
    "\ud800 lone surrogate",
    "javascript:window.pwned=1",
    "&lt;b&gt;",
    "x" * 500,
    "__proto__",
    "",
]


def grid(n):
    """Places on a square grid: no two nodes share one."""
    side = int(np.ceil(np.sqrt(n)))
    return np.column_stack([np.arange(n) % side, np.arange(n) // side])


def example(n=60, **parts):
    rng = np.random.default_rng(0)
    z = rng.normal(size=(n, 8)).astype(np.float32)
    given = {
        "node_ids": [f"node-{i}" for i in range(n)],
        "labels": [["red", "green", "blue"][i % 3] for i in range(n)],
        "columns": {"weight": np.linspace(0, 1, n), "kind": ["a", "b"] * (n // 2)},
        "layout": grid(n),
        "history": {"loss": [3.0, 2.0, 1.5], "invariance": [-1.0, -2.0, -2.5]},
        "probe": {
            "accuracies": [0.8, 0.9],
            "val_accuracies": [0.7, 0.7],
            "epochs": [3, 9],
            "strengths": [],
            "confusion": np.array([[5, 1], [0, 4]]),
            "classes": ["red", "green"],
            "logistic": {"accuracies": [0.86, 0.88], "confusion": np.array([[6, 0], [0, 4]])},
        },
        "settings": {"hidden_dim": 512},
        "provenance": {"seconds": 12.34, "peak_memory": 5e8, "seed": 12345},
        "choices": ["width 8 because the graph is small"],
        "notes": ["merged 3 edges"],
        "graph": {"nodes": n, "edges": 1234, "isolated": n // 2, "features": 20},
    }
    return ReportData("Example", z, **{**given, **parts})


def test_embedded_json_cannot_leave_its_element():
    text = page.embed_json(HOSTILE)
    assert not set("<>&\u2028\u2029") & set(text)
    assert text.isascii()
    assert json.loads(text) == HOSTILE


def test_page_is_one_file_that_names_no_host_and_repeats(tmp_path):
    first = write_page(tmp_path / "a.html", example())
    text = first.read_text(encoding="utf-8")
    assert write_page(tmp_path / "b.html", example()).read_text(encoding="utf-8") == text
    assert set(re.findall(r"https?://[^\s\"']*", text)) == {"http://www.w3.org/2000/svg"}  # a name, never fetched
    assert "default-src 'none'" in text
    assert "unsafe" not in text
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", text)
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["a.html", "b.html"]


def shown(file):
    """What the page's script is given."""
    return json.loads(re.search(r'type="application/json">(.*?)</script>', file.read_text(encoding="utf-8"), re.S)[1])


def test_write_report_takes_all_from_the_dataset_the_model_and_the_probe(tmp_path):
    data = stochastic_block_graph(40, n_classes=2, seed=0)
    data = dataclasses.replace(data, notes=("a note",), class_names=("red", "green", "nobody's"))
    model = CCASSG(encoder="gcn", n_steps=2, hidden_dim=4, embedding_dim=4, random_state=0)
    z = model.fit_transform(data.graph)
    result = linear_probe(z, data.y, data.split(0), epochs=3)
    found = shown(write_report(tmp_path / "all.html", z, data, model=model, probe=result, layout=grid(40)))
    assert found["title"] == (data.name or "all")
    assert found["ids"] == [str(i) for i in range(40)]
    assert sorted(found["colourings"][0]["names"]) == ["green", "red"]
    assert found["graph"] == data.graph.counts()
    assert found["notes"] == ["a note"]
    assert [curve["name"] for curve in found["curves"]] == list(model.history_)
    assert found["settings"]["hidden_dim"] == 4
    assert found["choices"] == list(model.reasons_)
    assert found["probe"]["accuracies"] == result.accuracies
    assert found["probe"]["classes"] == ["red", "green"]


def test_write_report_of_an_array_and_what_the_user_gives_in_place_of_the_dataset(tmp_path):
    z = np.random.default_rng(0).normal(size=(12, 3))
    bare = shown(write_report(tmp_path / "bare.html", z, layout=grid(12)))
    assert (bare["title"], bare["probe"], bare["graph"], bare["curves"]) == ("bare", None, {}, [])
    data = stochastic_block_graph(12, n_classes=2, mean_degree=2, seed=0)
    own = {"node_ids": list("abcdefghijkl"), "labels": ["x", "y", None] * 4, "columns": {"c": range(12)}}
    found = shown(write_report(tmp_path / "own.html", z, data, title="Mine", layout=grid(12), **own))
    assert found["title"] == "Mine"
    assert found["ids"] == own["node_ids"]
    assert [colouring["name"] for colouring in found["colourings"]] == ["label", "cluster (k-means)", "degree", "c"]
    assert found["colourings"][0]["names"] == ["x", "y", "(no label)"]
    assert len(found["colourings"][1]["names"]) == 2
    with pytest.raises(ValueError, match="node_ids has 12 entries, but there are 11 nodes"):
        write_report(tmp_path / "short.html", z[:11], data)


def test_only_a_page_of_ours_is_replaced(tmp_path):
    z = np.random.default_rng(0).normal(size=(10, 3))
    for _ in range(2):
        write_report(tmp_path / "page.html", z)
    (tmp_path / "thesis.html").write_text("<html>mine</html>")
    with pytest.raises(ValueError, match=r"thesis\.html is there already and is not known to be an earlier output"):
        write_report(tmp_path / "thesis.html", z)
    assert (tmp_path / "thesis.html").read_text() == "<html>mine</html>"


def test_a_hostile_title_stays_a_title(tmp_path):
    for title in HOSTILE:
        text = page.render({"title": title})
        assert text.lower().count("<script") == 2
        assert text.count("<title>") == text.count("</title>") == 1
        text.encode("utf-8")


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def visit(browser, tmp_path):
    """Write the page and open it; at the end there must be no error, no message and no request but the file itself."""
    with contextlib.ExitStack() as stack:
        complaints: list[str] = []

        def go(data, **options):
            file = write_page(tmp_path / "report.html", data)
            context = stack.enter_context(contextlib.closing(browser.new_context(**options)))
            tab = context.new_page()
            tab.on("console", lambda message: complaints.append(message.text))
            tab.on("pageerror", lambda error: complaints.append(str(error)))
            tab.on("dialog", lambda dialog: complaints.append("dialog"))
            address = file.as_uri()
            tab.on("request", lambda request: None if request.url == address else complaints.append(request.url[:100]))
            tab.goto(address)
            tab.wait_for_selector("html[data-ready=true]", timeout=60_000)
            return tab

        yield go
        assert complaints == []


def drawn(tab, canvas="points"):
    """A number that changes with the canvas' pixels, after pending frames are drawn."""
    return tab.evaluate(
        """async (id) => {
          for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
          const canvas = document.getElementById(id);
          const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
          copy.drawImage(canvas, 0, 0);
          const data = copy.getImageData(0, 0, canvas.width, canvas.height).data;
          let hash = 0;
          for (const v of data) hash = (hash * 31 + v) | 0;
          return hash;
        }""",
        canvas,
    )


def centre_of(tab):
    tab.locator("#overlay").scroll_into_view_if_needed()
    box = tab.locator("#overlay").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def find(tab, text):
    tab.fill("#find", text)
    tab.keyboard.press("Enter")


def frame(tab, left, top, right, bottom):
    """Draw a rectangle on the map with Shift held; the corners are shares of its width and height."""
    tab.locator("#overlay").scroll_into_view_if_needed()
    box = tab.locator("#overlay").bounding_box()
    tab.keyboard.down("Shift")
    tab.mouse.move(box["x"] + left * box["width"], box["y"] + top * box["height"])
    tab.mouse.down()
    tab.mouse.move(box["x"] + right * box["width"], box["y"] + bottom * box["height"], steps=3)
    tab.mouse.up()
    tab.keyboard.up("Shift")


def downloaded(tab):
    """The text of the CSV file that the button gives."""
    with tab.expect_download() as waiting:
        tab.click("#download")
    return Path(waiting.value.path()).read_text(encoding="utf-8")


def table_of(text):
    return list(csv.reader(text.splitlines(keepends=True)))


def test_every_part_is_on_the_page(visit):
    tab = visit(example())
    assert tab.title() == "Example"
    text = tab.inner_text("body")
    for expected in ["60 nodes · 1,234 edges", "85.0 %", "± 7.1", "12.3 s", "500.0 MB", "512", "12345", "3 to 9"]:
        assert expected in text, expected
    for expected in ["30 nodes of 60 (50%) have no edge", "width 8 because", "merged 3 edges", "70.00 %"]:
        assert expected in text, expected
    convex = tab.locator("#probe tr", has_text="logistic regression, strength chosen on validation")
    assert "87.00 % ± 1.41" in convex.inner_text()
    assert tab.locator("#curves svg path.curve").count() == 2
    assert tab.locator("#spectrum svg text", has_text="effective rank").count() == 1
    assert tab.locator("#correlation canvas.heat").count() == 1
    assert tab.locator(".confusion thead th").all_inner_texts() == ["true \\ predicted", "red", "green"]
    assert tab.locator(".confusion tbody th").all_inner_texts() == ["red", "green"]
    assert tab.locator(".confusion td").all_inner_texts() == ["5", "1", "0", "4"]
    tab.locator("canvas.heat").hover(position={"x": 2, "y": 2})
    assert "Columns 0 and 0: correlation 1.00" in tab.inner_text("#correlation-text")


def test_a_page_of_nothing_but_an_embedding(visit):
    tab = visit(ReportData("Bare", np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)))
    assert "No warnings" in tab.inner_text("#warnings")
    for hidden in ("#training", "#probe", "#selection"):
        assert not tab.locator(hidden).is_visible()
    find(tab, "4")
    assert tab.locator("#neighbours button").count() == 4


def test_one_node_and_equal_nodes_are_drawn(visit):
    assert "1 node ·" in visit(ReportData("One", np.ones((1, 1), np.float32))).inner_text("#summary")
    tab = visit(ReportData("Equal", np.ones((12, 2), np.float32), history={"loss": [float("nan")]}))
    assert "Complete collapse" in tab.inner_text("#warnings")
    assert "nothing to draw" in tab.inner_text("#curves")


def test_find_highlights_a_node_and_its_neighbours(visit):
    data = example()
    tab = visit(data)
    before = drawn(tab, "overlay")
    tab.fill("#find", "node-5")
    assert tab.locator("#matches li").all_inner_texts() == ["node-5", *(f"node-{i}" for i in range(50, 57))]
    tab.keyboard.press("Enter")
    assert tab.locator("#selection h3").first.inner_text() == "node-5"
    assert drawn(tab, "overlay") != before
    unit = data.embedding / np.linalg.norm(data.embedding, axis=1, keepdims=True)
    order = [i for i in np.argsort(-(unit @ unit[5])) if i != 5][:10]
    assert tab.locator("#neighbours .name").all_inner_texts() == [f"node-{i}" for i in order]
    tab.locator("#neighbours button").first.click()
    assert tab.locator("#selection h3").first.inner_text() == f"node-{order[0]}"
    tab.get_by_role("button", name="Clear").click()
    assert tab.locator("#selection").inner_text() == ""
    find(tab, "no such node")
    assert "No node has this" in tab.inner_text("#matches")


def test_hover_and_click_show_the_node_under_the_mouse(visit):
    tab = visit(example())
    find(tab, "node-7")  # brings it to the middle
    tab.mouse.move(*centre_of(tab))
    tip = tab.inner_text("#tooltip")
    assert "node-7" in tip
    assert "label: green" in tip
    tab.select_option("#colour-by", label="weight")
    x, y = centre_of(tab)
    tab.mouse.move(x + 2, y + 1)
    assert "weight: 0.1186" in tab.inner_text("#tooltip")
    tab.get_by_role("button", name="Clear").click()
    tab.mouse.click(x, y)
    assert tab.locator("#selection h3").first.inner_text() == "node-7"
    tab.mouse.move(5, 5)
    assert not tab.locator("#tooltip").is_visible()


def test_colour_by_label_cluster_or_column(visit):
    tab = visit(example())
    names = tab.locator("#colour-by option").all_inner_texts()
    assert names == ["label", "cluster (k-means)", "weight", "kind"]
    seen = {drawn(tab)}
    for name in names[1:]:
        tab.select_option("#colour-by", label=name)
        assert tab.inner_text("#legend-heading") == name
        seen.add(drawn(tab))
    assert len(seen) == 4
    assert tab.locator("#legend .name").all_inner_texts() == ["a", "b"]
    tab.get_by_role("button", name="a 30").click()
    assert drawn(tab) not in seen  # the others are pale
    assert tab.get_by_role("button", name="a 30").get_attribute("aria-pressed") == "true"


def test_no_part_of_the_table_covers_the_others(visit):
    """Thirty nodes of one class, thirty of another, all in the same place: both colours are seen there, or near it."""
    layout = np.concatenate([grid(30), grid(30)]) * 1.0
    tab = visit(example(labels=["a"] * 30 + ["b"] * 30, layout=layout))
    drawn(tab)
    seen = tab.evaluate(
        """() => {
          const { width, height } = document.getElementById("points");
          const data = document.getElementById("points").getContext("2d").getImageData(0, 0, width, height).data;
          let blue = 0, orange = 0;
          for (let i = 0; i < data.length; i += 4) {
            blue += data[i] < 60 && data[i + 2] > 140;
            orange += data[i] > 200 && data[i + 2] < 60;
          }
          return [blue, orange];
        }"""
    )
    assert min(seen) > 0.1 * sum(seen)


def test_the_nodes_beside_the_map_have_its_colours(visit):
    tab = visit(example())
    find(tab, "node-7")
    chips = """() => [...document.querySelectorAll("#neighbours .chip")].map((chip) => chip.style.backgroundColor)"""
    seen = []
    for name in ("label", "kind", "weight"):
        tab.select_option("#colour-by", label=name)
        seen.append(tab.evaluate(chips))
    assert [len(set(colours)) for colours in seen] == [3, 2, 10]
    assert not set(seen[0]) & set(seen[2])


def test_names_stand_for_ids_and_are_found(visit):
    names = [f"Person {i}" if i else None for i in range(60)]
    tab = visit(example(names=names))
    tab.fill("#find", "person 7")
    assert tab.locator("#matches li").all_inner_texts() == ["Person 7 node-7"]
    tab.keyboard.press("Enter")
    assert tab.locator("#selection h3").first.inner_text() == "Person 7"
    assert "node-7" in tab.inner_text("#selection dl")
    assert {text.split()[0] for text in tab.locator("#neighbours .name").all_inner_texts()} <= {"Person", "node-0"}
    tab.mouse.move(*centre_of(tab))
    assert tab.inner_text("#tooltip").splitlines()[:2] == ["Person 7", "node-7"]
    find(tab, "node-7")
    assert tab.locator("#selection h3").first.inner_text() == "Person 7"
    find(tab, "node-0")
    assert tab.locator("#selection h3").first.inner_text() == "node-0"


def test_few_nodes_have_their_names_beside_them(visit):
    marks = """() => {
      const { width, height } = document.getElementById("overlay");
      return document.getElementById("overlay").getContext("2d").getImageData(0, 0, width, height).data.some((v) => v > 0);
    }"""
    for n, named in ((20, True), (60, False)):
        tab = visit(example(n))
        drawn(tab, "overlay")
        assert tab.evaluate(marks) is named


def test_the_nodes_in_a_frame_are_counted_and_downloaded(visit):
    data = example(columns={"weight": np.r_[np.nan, np.linspace(0.1, 1, 59)], 'a, "b"': ["x", None] * 30})
    tab = visit(data)
    before = drawn(tab)
    assert tab.inner_text("#download") == "Download all 60 nodes as CSV"
    frame(tab, 0.02, 0.02, 0.98, 0.55)  # of the grid's eight rows the upper four
    assert drawn(tab) != before
    high = [i for i in range(60) if data.layout[i][1] >= 4]
    assert tab.inner_text("#selection h3") == f"{len(high)} nodes in the frame"
    of_label = {name: sum(data.labels[i] == name for i in high) for name in ("red", "green", "blue")}
    assert {row.split()[0]: int(row.split()[1]) for row in tab.locator("#legend li").all_inner_texts()} == of_label
    tab.select_option("#colour-by", label='a, "b"')
    tab.get_by_role("button", name="(no value)").click()
    rows = table_of(downloaded(tab))
    assert rows[0] == ["id", "label", "cluster (k-means)", "weight", 'a, "b"']
    assert [row[0] for row in rows[1:]] == [f"node-{i}" for i in high if i % 2]
    assert {row[4] for row in rows[1:]} == {""}
    assert float(rows[1][3]) == pytest.approx(np.linspace(0.1, 1, 59)[high[0] - 1 + (high[0] + 1) % 2])
    tab.get_by_role("button", name="Clear").click()
    tab.get_by_role("button", name="(no value)").click()
    assert drawn(tab) != before  # coloured by another column
    find(tab, "node-7")
    assert table_of(downloaded(tab))[1][0] == "node-7"
    assert tab.inner_text("#download") == "Download 11 nodes as CSV"


def test_a_finger_frames_nodes_by_the_button(visit):
    tab = visit(example(), viewport={"width": 390, "height": 844})
    tab.click("#frame")
    x, y = centre_of(tab)
    tab.mouse.move(x - 60, y - 60)
    tab.mouse.down()
    tab.mouse.move(x + 60, y + 60)
    tab.mouse.up()
    assert "nodes in the frame" in tab.inner_text("#selection")
    before = drawn(tab)
    tab.mouse.down()
    tab.mouse.move(x, y)
    tab.mouse.up()
    assert drawn(tab) != before  # the next drag moves the map again


@pytest.mark.parametrize("warned", [False, True])
def test_the_whole_map_is_on_the_first_screen(visit, warned):
    graph = {"nodes": 60, "edges": 9, "isolated": 30 if warned else 0, "features": 3 if warned else 20}
    tab = visit(example(graph=graph), viewport={"width": 1400, "height": 900})
    assert tab.locator("#warnings li").count() == 2 * warned
    box = tab.locator(".map-card").bounding_box()
    assert box["y"] + box["height"] <= 900
    assert tab.locator("#overlay").bounding_box()["height"] > 400


def test_sixty_classes_have_sixty_colours_and_names_in_the_matrix(visit):
    classes = [f"class {i}" for i in range(60)]
    probe = {"accuracies": [0.5], "confusion": np.eye(60, dtype=int), "classes": classes}
    tab = visit(example(n=120, labels=classes * 2, probe=probe), viewport={"width": 390, "height": 844})
    colours = tab.evaluate("[...document.querySelectorAll('#legend .chip')].map((chip) => chip.style.backgroundColor)")
    assert len(set(colours)) == len(colours) == 60
    assert tab.locator(".confusion tbody th").all_inner_texts() == classes
    assert tab.locator(".confusion thead th").all_inner_texts()[1:] == classes
    assert set(tab.locator(".confusion td").all_inner_texts()) == {""}
    assert tab.locator(".confusion td").first.get_attribute("title") == "class 0 taken for class 0: 100.0 %"
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_sample_is_named_beside_the_map(visit, monkeypatch):
    monkeypatch.setattr(payload, "build_payload", lambda data, build=payload.build_payload: build(data, max_nodes=20))
    tab = visit(example())
    assert tab.inner_text("#map-how").startswith("20 of 60 nodes are shown, drawn at random. ")
    assert tab.inner_text("#summary").startswith("60 nodes")


def test_zoom_and_move_by_mouse_wheel_keys_and_buttons(visit):
    tab = visit(example())
    first = drawn(tab)
    x, y = centre_of(tab)
    actions = [
        lambda: (tab.mouse.move(x, y), tab.mouse.wheel(0, -300)),
        lambda: (tab.mouse.move(x, y), tab.mouse.down(), tab.mouse.move(x + 60, y + 20), tab.mouse.up()),
        lambda: tab.locator("#overlay").press("ArrowLeft"),
        lambda: tab.locator("#overlay").press("-"),
        lambda: tab.click("#zoom-in"),
    ]
    seen = {first}
    for action in actions:
        action()
        tab.wait_for_timeout(50)
        now = drawn(tab)
        assert now not in seen
        seen.add(now)
    tab.click("#zoom-all")
    assert drawn(tab) == first


def test_hostile_text_is_shown_and_never_run(visit):
    n = len(HOSTILE)
    rng = np.random.default_rng(0)
    columns = {name: [f"{name}{i % 2}" for i in range(n)] for name in HOSTILE}
    table = {name: name for name in HOSTILE}
    data = example(
        n,
        node_ids=np.array(HOSTILE, dtype=object),
        labels=HOSTILE[::-1],
        columns=columns,
        layout=grid(n),
        history={name: [2.0, 1.0] for name in HOSTILE},
        probe={**table, "confusion": rng.integers(0, 9, (n, n)), "classes": HOSTILE},
        settings=table,
        provenance=table,
        choices=HOSTILE,
        notes=HOSTILE,
        graph={**table, "nodes": n},
    )
    tab = visit(data)
    assert table_of(downloaded(tab))[1:][3][0] == HOSTILE[3]
    for i in range(len(columns) + 2):
        tab.select_option("#colour-by", index=i)
    for i, name in enumerate(HOSTILE[:4]):
        find(tab, name)
        tab.mouse.move(*centre_of(tab))
        assert tab.locator("#selection h3").first.inner_text() == name
        tip = tab.locator("#tooltip").text_content()
        assert tip.startswith(name)
        assert (HOSTILE[::-1][i] or "(no label)")[:100] in tip
    shown = tab.locator("#colour-by option").all_text_contents()
    assert [text for text in HOSTILE if text.isprintable() and text not in shown] == []
    assert tab.evaluate("typeof window.pwned") == "undefined"
    assert tab.evaluate("document.scripts.length") == 2
    assert tab.evaluate("document.querySelectorAll('img, iframe, object, embed, [onload], [onerror]').length") == 0


def test_the_policy_alone_stops_markup_scripts_and_requests(browser, tmp_path):
    """Even if a text did become markup, it could neither run nor load anything: shown by trying from inside."""
    file = write_page(tmp_path / "report.html", example(n=10))
    with contextlib.closing(browser.new_context()) as context:
        tab = context.new_page()
        tab.goto(file.as_uri())
        blocked = tab.evaluate(
            """async () => {
              const blocked = [];
              let heard;
              const both = new Promise((done) => { heard = done; });
              document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => {
                blocked.push(effectiveDirective);
                if (effectiveDirective === "connect-src") heard();
              });
              const attempt = (act) => { try { act(); } catch (error) { blocked.push(error.name); } };
              attempt(() => { document.body.innerHTML = "<script>window.pwned = 1</script>"; });
              attempt(() => document.body.setAttribute("onclick", "window.pwned = 1"));
              attempt(() => document.body.click());
              const picture = new Image();
              const failed = new Promise((done) => { picture.onerror = done; });
              picture.src = "http://127.0.0.1:9/x.png";
              await failed;
              await fetch("http://127.0.0.1:9/").catch(() => {});
              await both;
              return [...blocked, typeof window.pwned];
            }"""
        )
    assert {"TypeError", "img-src", "connect-src", "undefined"} <= set(blocked)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_and_narrow_screens(visit, scheme):
    tab = visit(example(), color_scheme=scheme, viewport={"width": 380, "height": 700})
    background = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(v) for v in re.findall(r"\d+", background)[:3])
    assert (brightness > 380) == (scheme == "light")
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_fifty_thousand_nodes_load_move_and_answer(visit, tmp_path):
    n = 50_000
    rng = np.random.default_rng(0)
    z = rng.normal(size=(n, 16)).astype(np.float32)
    z[777] = z[49_999] * 2  # the same direction: nearest of all
    data = ReportData("Large", z, labels=[f"class {i % 12}" for i in range(n)], layout=grid(n))
    tab = visit(data)
    before = drawn(tab)
    x, y = centre_of(tab)
    tab.mouse.move(x, y)
    tab.mouse.down()
    for step in range(1, 11):
        tab.mouse.move(x + 5 * step, y)
    tab.mouse.up()
    assert drawn(tab) != before
    find(tab, "49999")
    assert tab.locator("#neighbours .name").first.inner_text() == "777"
    assert (tmp_path / "report.html").stat().st_size < 8_000_000


def test_the_page_about_cora_stays_small(tmp_path, dataset):
    cora = dataset("cora")
    rng = np.random.default_rng(0)
    n = cora.graph.n_nodes
    z = rng.normal(size=(n, 512)).astype(np.float32)
    data = ReportData("Cora", z, cora.graph.node_ids, labels=[str(v) for v in cora.y], layout=rng.normal(size=(n, 2)))
    assert write_page(tmp_path / "cora.html", data).stat().st_size < 8_000_000


def test_figures_are_named_in_words(visit):
    probe = {
        "accuracy": 0.85, "std": 0.07, "accuracies": [0.8, 0.9], "n_runs": 2, "val_accuracies": [0.7, 0.7],
        "roc_auc": [0.95, 0.97], "strengths": [1.0, 10.0], "confusion": [[5, 1], [0, 4]], "classes": ["red_hot", "green"],
        "nearest_neighbours": 0.7,
    }  # fmt: skip
    history = {"loss": [3.0, 2.0], "invariance": [-1.0, -4.0], "decorrelation": [5_000.0, 16_000.0]}
    tab = visit(example(probe=probe, history=history))
    rows = [tuple(row.split("\t")) for row in tab.locator("#probe .facts tr").all_inner_texts()]
    assert {("runs", "2"), ("area under the ROC curve", "0.960 ± 0.014"), ("regularisation", "1 to 10")} <= set(rows)
    assert {"validation accuracy", "10 nearest neighbours"} <= {row[0] for row in rows}
    assert "Test nodes, added up over 2 runs." in tab.inner_text("#probe")
    assert "It may rise" in tab.locator("#curves figure").nth(2).inner_text()
    assert "graph to embedding" in tab.inner_text("#tiles")
    tab.set_viewport_size({"width": 390, "height": 844})
    cut = "cells => cells.filter(cell => cell.scrollWidth > cell.clientWidth + 1).length"
    assert tab.locator(".confusion tr > th:first-child").evaluate_all(cut) == 0
