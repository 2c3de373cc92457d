// The small pictures: curves, the heat map, the confusion matrix.

const CHART = { left: 54, right: 14, top: 14, bottom: 36 };

/** A box that draws its curve anew at every width, so that letters and lines keep their size. */
function lineChart(options) {
  const box = element("div");
  let drawn = 0;
  new ResizeObserver(() => {
    if (box.clientWidth === drawn || !box.clientWidth) return;
    drawn = box.clientWidth;
    box.replaceChildren(drawCurve(options, drawn));
  }).observe(box);
  return box;
}

/**
 * One curve with axes and a reading under the mouse.
 * `marks` are vertical lines [{ at, text }]; `log` puts the values on a logarithmic axis, as shares in percent.
 */
function drawCurve({ label, xs, ys, xLabel, log = false, marks = [], height = 230 }, width) {
  const { left, right, top, bottom } = CHART;
  const known = ys.filter((v) => v !== null && (!log || v > 0));
  const root = svg("svg", { class: "chart", width, height, role: "img", "aria-label": label });
  if (!known.length) {
    root.append(svg("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, "nothing to draw"));
    return root;
  }
  let [low, high] = extent(known);
  if (log) [low, high] = [10 ** Math.floor(Math.log10(Math.max(low, high * 1e-8))), 10 ** Math.ceil(Math.log10(high))];
  if (low === high) [low, high] = [low - Math.abs(low || 1) * 0.1, high + Math.abs(high || 1) * 0.1];
  const ticks = log ? powers(low, high) : niceTicks(low, high);
  if (!log) [low, high] = [ticks[0], ticks[ticks.length - 1]];
  const [first, last] = [xs[0], Math.max(xs[xs.length - 1], xs[0] + 1)];
  const sx = (v) => left + ((v - first) / (last - first)) * (width - left - right);
  const share = log ? (v) => Math.log(v / low) / Math.log(high / low) : (v) => (v - low) / (high - low);
  const sy = (v) => height - bottom - Math.max(0, share(v)) * (height - top - bottom);
  const text = log ? (v) => `${short(Number((100 * v).toPrecision(3)))} %` : short;
  for (const tick of ticks) {
    root.append(svg("line", { class: "grid-line", x1: left, x2: width - right, y1: sy(tick), y2: sy(tick) }));
    root.append(svg("text", { x: left - 6, y: sy(tick) + 4, "text-anchor": "end" }, text(tick)));
  }
  for (const tick of niceTicks(first, last).filter((t) => t >= first && t <= last && Number.isInteger(t))) {
    root.append(svg("text", { x: sx(tick), y: height - bottom + 15, "text-anchor": "middle" }, short(tick)));
  }
  root.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }));
  root.append(svg("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, xLabel));
  for (const mark of marks) {
    const px = sx(Math.min(Math.max(mark.at, first), last));
    const flip = px > width * 0.6;
    root.append(svg("line", { class: "mark", x1: px, x2: px, y1: top, y2: height - bottom }));
    root.append(svg("text", { x: px + (flip ? -6 : 6), y: top + 26, "text-anchor": flip ? "end" : "start" }, mark.text));
  }
  let path = "", pen = "M";
  xs.forEach((v, i) => {
    const drawable = ys[i] !== null && (!log || ys[i] > 0);
    if (drawable) path += `${pen}${sx(v).toFixed(2)} ${sy(ys[i]).toFixed(2)}`;
    pen = drawable ? "L" : "M";
  });
  root.append(svg("path", { class: "curve", d: path }));
  if (known.length === 1) root.append(svg("circle", { class: "dot", cx: sx(xs[ys.indexOf(known[0])]), cy: sy(known[0]), r: 4 }));
  addReading(root, { xs, ys, sx, sy, xLabel, text, width, drawable: (v) => v !== null && (!log || v > 0) });
  return root;
}

/** A dot and its value, following the mouse along the curve. */
function addReading(root, { xs, ys, sx, sy, xLabel, text, width, drawable }) {
  const dot = svg("circle", { class: "dot", r: 4, visibility: "hidden" });
  const words = svg("text", { class: "reading", y: CHART.top + 8, visibility: "hidden" });
  root.append(dot, words);
  root.addEventListener("pointermove", (event) => {
    const box = root.getBoundingClientRect();
    const px = event.clientX - box.left;
    let best = 0;
    xs.forEach((v, i) => { if (Math.abs(sx(v) - px) < Math.abs(sx(xs[best]) - px)) best = i; });
    const show = drawable(ys[best]) ? "visible" : "hidden";
    if (show === "visible") {
      dot.setAttribute("cx", sx(xs[best]));
      dot.setAttribute("cy", sy(ys[best]));
      const right = sx(xs[best]) < width / 2;
      words.setAttribute("x", right ? width - CHART.right : CHART.left + 4);
      words.setAttribute("text-anchor", right ? "end" : "start");
      words.textContent = `${xLabel} ${short(xs[best])}: ${text(ys[best])}`;
    }
    for (const part of [dot, words]) part.setAttribute("visibility", show);
  });
  root.addEventListener("pointerleave", () => {
    for (const part of [dot, words]) part.setAttribute("visibility", "hidden");
  });
}

/** Round numbers a step apart, the first at or below `low`, the last at or above `high`. */
function niceTicks(low, high, wanted = 5) {
  const rough = (high - low) / wanted;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find((m) => rough <= m * unit * 1.0001);
  const ticks = [];
  for (let k = Math.floor(low / step + 1e-9); k <= Math.ceil(high / step - 1e-9); k++) ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}

function powers(low, high) {
  const first = Math.round(Math.log10(low)), last = Math.round(Math.log10(high));
  const step = Math.max(1, Math.ceil((last - first) / 5));
  const ticks = [];
  for (let p = last; p >= first; p -= step) ticks.push(10 ** p);
  return ticks;
}

/** Absolute correlation as a picture; `reading` gets the text about the cell under the mouse. */
function heatMap({ size, columns, values, reading }) {
  const canvas = element("canvas", { class: "heat", width: size, height: size, role: "img",
    "aria-label": "Heat map of the absolute correlation of the embedding's columns" });
  const idle = reading.textContent;
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const cell = (offset, length) => Math.max(0, Math.min(size - 1, Math.floor((offset / length) * size)));
    const column = cell(event.clientX - box.left, box.width), row = cell(event.clientY - box.top, box.height);
    reading.textContent = `Columns ${columns[row]} and ${columns[column]}: correlation ${(values[row * size + column] / 127).toFixed(2)}`;
  });
  canvas.addEventListener("pointerleave", () => { reading.textContent = idle; });
  const key = element("canvas", { class: "ramp", width: 128, height: 1, "aria-hidden": "true" });
  const draw = () => {
    const [low, high] = [rgb(themed("--surface")), rgb(themed("--accent"))];
    paint(canvas, (i) => mix(low, high, Math.abs(values[i]) / 127));
    paint(key, (i) => mix(low, high, i / 127));
  };
  draw();
  darkMode.addEventListener("change", draw);
  const ends = element("div", { class: "ends" }, element("span", {}, "0"), element("span", {}, "absolute correlation"), element("span", {}, "1"));
  return [canvas, element("div", { class: "heat-key" }, key, ends)];
}

/** Set every pixel of a small canvas to the colour (three numbers) that `colourOf` gives for its position. */
function paint(canvas, colourOf) {
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  for (let i = 0; i < canvas.width * canvas.height; i++) image.data.set([...colourOf(i), 255], 4 * i);
  context.putImageData(image, 0, 0);
}

/** Counts by true class (rows) and predicted class (columns), shaded by their share of the row. */
function confusionTable(confusion, classes) {
  const head = element("tr", {}, element("th", { scope: "col" }, "true \\ predicted"));
  classes.forEach((text) => head.append(element("th", { scope: "col", title: text }, name(text))));
  const many = classes.length > 20; // no room for numbers
  const body = element("tbody");
  confusion.forEach((row, i) => {
    const total = row.reduce((sum, v) => sum + v, 0);
    const line = element("tr", {}, element("th", { scope: "row", title: classes[i] }, name(classes[i].replaceAll("_", "_\u200b")))); // may break there
    row.forEach((value, j) => {
      const share = total ? value / total : 0;
      const cell = element("td", { title: `${classes[i]} taken for ${classes[j]}: ${percent(share)}` }, many ? "" : short(value));
      cell.style.backgroundColor = `color-mix(in srgb, var(--accent) ${(100 * share).toFixed(1)}%, transparent)`;
      if (share > 0.5) cell.style.color = "var(--on-accent)";
      line.append(cell);
    });
    body.append(line);
  });
  return element("div", { class: "wide" }, element("table", { class: many ? "confusion many" : "confusion" }, element("thead", {}, head), body));
}
