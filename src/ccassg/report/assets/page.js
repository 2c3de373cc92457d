// Puts the page together from the parts above.

function drawHead() {
  const { graph, probe, provenance } = report;
  byId("title").append(name(report.title));
  const facts = { node: report.allNodes, edge: graph.edges, feature: graph.features, dimension: report.dim };
  const known = Object.entries(facts).filter(([, number]) => Number.isFinite(number));
  const parts = known.map(([noun, number]) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`);
  byId("summary").append(parts.join(" · "));
  const tile = (label, value, detail = "") => byId("tiles").append(
    element("div", { class: "tile" }, element("dt", {}, label), element("dd", {}, value, " ", element("small", {}, detail))));
  if (probe) {
    const { mean, std, runs } = probeScore(probe);
    if (mean !== null) tile("Linear probe accuracy", percent(mean), std !== null && runs !== 1 ? `± ${(100 * std).toFixed(1)}` : "");
  }
  tile("Effective rank", short(Number(report.spectrum.effectiveRank.toFixed(1))), `of ${report.dim}`);
  tile("Mean correlation", report.correlation.meanAbsolute.toFixed(3), "absolute");
  if (Number.isFinite(provenance.seconds)) tile("Time", duration(provenance.seconds), "graph to embedding");
  if (Number.isFinite(provenance.peak_memory)) tile("Peak memory", bytes(provenance.peak_memory));
}

/** Mean and deviation (n - 1) of a probe: as given, else from its runs. */
function probeScore({ accuracy = null, std = null, accuracies = [] }) {
  const found = meanStd(accuracies);
  return { mean: accuracy ?? found.mean, std: std ?? found.std, runs: accuracies.length };
}

function meanStd(values) {
  const n = values.length;
  if (!n) return { mean: null, std: null };
  const mean = values.reduce((sum, v) => sum + v, 0) / n;
  return { mean, std: n > 1 ? Math.sqrt(values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / (n - 1)) : null };
}

/** Fractions as percent, "83.51 % ± 0.42"; the deviation only where there is one. */
const percentStd = ({ mean, std }) => percent(mean, 2) + (std === null ? "" : ` ± ${(100 * std).toFixed(2)}`);

function drawWarnings() {
  const box = byId("warnings");
  if (!report.warnings.length) {
    box.append(element("p", { class: "fine" }, "✓ No warnings from the automatic checks."));
    return;
  }
  const list = element("ul");
  for (const text of report.warnings) list.append(element("li", {}, text));
  box.append(element("div", { class: "warning" }, element("h2", {}, "⚠ Before you rely on this embedding"), list));
}

function drawMap() {
  const colourings = report.colourings.map((c) => ({ ...c, data: unpack(c.kind === "number" ? c.values : c.codes) }));
  const neighboursOf = neighbourFinder(report.neighbours);
  const tooltip = byId("tooltip"), chooser = byId("colour-by"), legend = byId("legend");
  let current = colourings[0], only = new Set(), framed = null, selected = -1, colours, faded;

  const map = createMap({
    points: byId("points"), overlay: byId("overlay"), x: unpack(report.map.x), y: unpack(report.map.y),
    onHover: (i, px, py) => showTooltip(i, px, py),
    onSelect: (i) => select(i, false),
    onFrame: (nodes) => {
      select(-1);
      if (!nodes.length) return;
      framed = new Uint8Array(report.nodes);
      for (const i of nodes) framed[i] = 1;
      recolour();
    },
  });

  function showTooltip(i, px, py) {
    tooltip.hidden = i < 0;
    if (i < 0) return;
    const lines = [element("b", {}, name(nameOf(i)))];
    if (nameOf(i) !== report.ids[i]) lines.push(element("span", {}, name(report.ids[i])));
    for (const colouring of new Set([colourings[0], current])) {
      lines.push(element("div", {}, element("span", {}, name(colouring.name), ": "), name(valueOf(colouring, i))));
    }
    tooltip.replaceChildren(...lines);
    const box = byId("map").getBoundingClientRect();
    const right = px < box.width / 2;
    tooltip.style.left = right ? `${px + 16}px` : "";
    tooltip.style.right = right ? "" : `${box.width - px + 16}px`;
    tooltip.style.top = `${Math.max(4, Math.min(py + 12, box.height - tooltip.offsetHeight - 4))}px`;
  }

  /** Select a node; -1: none, and no frame. */
  function select(i, centre) {
    selected = i;
    tooltip.hidden = true;
    if (i < 0) framed = null;
    recolour();
    const others = i < 0 ? [] : chosen().slice(1);
    map.focusOn(i, others);
    if (i >= 0 && centre) map.centreOn(i, others);
  }

  /** The selected node and its neighbours, else what frame and legend leave. */
  function chosen() {
    if (selected >= 0) return [selected, ...neighboursOf(selected).map(({ node }) => node)];
    return Array.from(faded.keys()).filter((i) => !faded[i]);
  }

  function recolour() {
    ({ colours, faded } = colourNodes(current, only, framed));
    map.colour(colours, faded);
    byId("legend-heading").replaceChildren(name(current.name));
    drawLegend(legend, current, only, framed, (next, position) => {
      only = next;
      recolour();
      legend.querySelector(`[data-position="${position}"]`).focus();
    });
    drawSelection(byId("selection"), selected, framed, selected < 0 ? [] : neighboursOf(selected), colourings, colours, {
      onSelect: (node) => select(node, true),
      onPoint: (node) => map.point(node),
    });
    const n = chosen().length;
    byId("download").textContent = `Download ${n === report.nodes ? "all " : ""}${count(n)} node${n === 1 ? "" : "s"} as CSV`;
  }

  colourings.forEach((colouring, i) => chooser.append(element("option", { value: i }, colouring.name)));
  chooser.addEventListener("change", () => {
    current = colourings[Number(chooser.value)];
    only = new Set();
    recolour();
  });
  searchField(byId("find"), byId("matches"), (i) => select(i, true));
  byId("frame").addEventListener("click", () => map.frameNext());
  byId("download").addEventListener("click", () => download(toCsv(chosen(), colourings), "nodes.csv"));
  byId("zoom-in").addEventListener("click", () => map.zoom(1.6));
  byId("zoom-out").addEventListener("click", () => map.zoom(1 / 1.6));
  byId("zoom-all").addEventListener("click", () => map.showAll());
  darkMode.addEventListener("change", recolour);
  const sample = report.nodes < report.allNodes ? `${count(report.nodes)} of ${count(report.allNodes)} nodes are shown, drawn at random. ` : "";
  byId("map-how").textContent = `${sample}${report.map.how} Drag to move, scroll to zoom, Shift and drag to frame nodes, click a node for its neighbours or the legend to isolate.`;
  recolour();
}

function drawCurves() {
  byId("training").hidden = !report.curves.length;
  for (const { name: title, steps, values } of report.curves) {
    const chart = lineChart({ label: `${title} by training step`, xs: steps, ys: values, xLabel: "step" });
    const figure = element("figure", { class: "card" }, element("h3", {}, name(title)), chart);
    if (title === "decorrelation" && values.at(-1) > values[0]) figure.append(element("figcaption", {}, "It may rise: the agreement of the views improves first, and only the weighted sum, the loss, is minimised."));
    byId("curves").append(figure);
  }
}

function drawDimensions() {
  const { variance, effectiveRank } = report.spectrum;
  byId("spectrum").append(lineChart({
    label: "Share of the variance by principal direction", xs: variance.map((_, i) => i + 1), ys: variance, log: true,
    height: 380, xLabel: "principal direction", marks: effectiveRank > 0 ? [{ at: effectiveRank, text: `effective rank ${effectiveRank.toFixed(1)}` }] : [],
  }));
  byId("spectrum-text").textContent =
    "Share of the variance in each principal direction. A flat line uses all dimensions; a steep fall means that few carry everything.";
  const { size, columns, values, meanAbsolute, constant } = report.correlation;
  const caption = byId("correlation-text");
  const shown = size < report.dim ? ` ${size} of ${report.dim} columns are shown, evenly spaced.` : "";
  const idle = constant ? ` ${constant} constant columns are left out of the mean.` : "";
  caption.textContent = `Mean absolute correlation of two different columns: ${meanAbsolute.toFixed(3)}. Off the diagonal, paler is better.${shown}${idle}`;
  byId("correlation").append(...heatMap({ size, columns, values: unpack(values), reading: caption }));
}

function drawProbe() {
  const { probe } = report;
  byId("probe").hidden = !probe;
  if (!probe) return;
  const { mean, std, runs } = probeScore(probe);
  const rows = {};
  const shown = (found) => percentStd({ mean: found.mean, std: found.runs === 1 ? null : found.std });
  if (mean !== null) rows[probe.logistic ? "test accuracy, paper's probe: Adam" : "test accuracy"] = shown({ mean, std, runs });
  if (probe.logistic) rows["test accuracy, logistic regression, strength chosen on validation"] = shown(probeScore(probe.logistic));
  if (runs > 1) rows["lowest and highest"] = extent(probe.accuracies).map((v) => percent(v)).join(" and ");
  for (const [key, value] of Object.entries(probe)) {
    if (["accuracy", "std", "accuracies", "confusion", "classes", "logistic"].includes(key)) continue;
    const text = AS_DECIMALS.includes(key) ? decimals([value].flat()) : probeText(value);
    if (text !== "") rows[PROBE_NAMES[key] ?? key.replaceAll("_", " ")] = text;
  }
  const parts = byId("probe-parts");
  parts.append(element("div", { class: "card" }, element("h3", {}, "Result"), factTable(rows)));
  if (probe.confusion) {
    const classes = probe.classes || probe.confusion.map((_, i) => `class ${i}`);
    const summed = probe.n_runs > 1 ? `Test nodes, added up over ${probe.n_runs} runs. ` : "Test nodes. ";
    const caption = element("p", { class: "muted small" }, `${summed}Rows are the true classes, columns the predicted ones; the shade is the share of the row.`);
    parts.append(element("div", { class: "card" }, element("h3", {}, "Confusion matrix"), confusionTable(probe.confusion, classes), caption));
  }
}

const PROBE_NAMES = {
  n_runs: "runs", val_accuracies: "validation accuracy", macro_f1: "macro F1", roc_auc: "area under the ROC curve", strengths: "regularisation",
  r2: "R²", r2s: "R² of the runs", largest_class: "always the largest class", nearest_neighbours: "10 nearest neighbours",
};
const AS_DECIMALS = ["roc_auc", "r2", "r2s"];

/** Numbers of the runs as "0.974 ± 0.002"; the deviation only where there is one. */
function decimals(values) {
  const { mean, std } = meanStd(values);
  return mean === null ? "" : mean.toFixed(3) + (std === null ? "" : ` ± ${std.toFixed(3)}`);
}

/** One value, or one per run: fractions as percent, counts as their range. */
function probeText(value) {
  if (!Array.isArray(value)) return Number.isInteger(value) || typeof value !== "number" ? value : probeText([value]);
  if (!value.every((v) => typeof v === "number")) return factText("", value);
  if (!value.length) return "";
  if (value.every((v) => v >= 0 && v <= 1)) return percentStd(meanStd(value));
  const [low, high] = extent(value);
  return low === high ? short(low) : `${short(low)} to ${short(high)}`;
}

function factTable(facts) {
  const body = element("tbody");
  for (const [key, value] of Object.entries(facts)) {
    body.append(element("tr", {}, element("th", { scope: "row" }, name(key)), element("td", {}, name(factText(key, value)))));
  }
  return element("table", { class: "facts" }, body);
}

function factText(key, value) {
  if (value === null) return "–";
  if (key === "peak_memory" && typeof value === "number") return bytes(value);
  if (key === "seconds" && typeof value === "number") return duration(value);
  if (key === "seed" || key === "random_state") return String(value);
  if (typeof value === "number") return short(value);
  if (Array.isArray(value) && value.every((v) => typeof v !== "object")) return value.join(", ");
  return typeof value === "object" ? Object.entries(value).map(([k, v]) => `${k}: ${factText(k, v)}`).join(", ") : String(value);
}

function drawFacts() {
  const card = (title, content) => byId("facts").append(element("div", { class: "card" }, element("h3", {}, title), content));
  const tables = { Settings: report.settings, Graph: report.graph, Provenance: report.provenance };
  for (const [title, facts] of Object.entries(tables)) if (Object.keys(facts).length) card(title, factTable(facts));
  const lists = { "Why these settings": report.choices, Notes: report.notes };
  for (const [title, texts] of Object.entries(lists)) {
    if (!texts.length) continue;
    const list = element("ul", { class: "facts-list" });
    for (const text of texts) list.append(element("li", {}, name(text)));
    card(title, list);
  }
}

drawHead();
drawWarnings();
drawMap();
drawCurves();
drawDimensions();
drawProbe();
drawFacts();
document.documentElement.dataset.ready = "true";
