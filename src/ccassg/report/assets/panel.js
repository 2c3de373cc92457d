// Beside the map: the legend, the selected node with its nearest neighbours, the search field, and nodes as CSV.

const MANY = 64; // categories with a colour of their own; the rest share a grey
// After the 16 colours of the palette come their shades: how far they go towards another colour of the page.
const SHADES = [["--surface", 0], ["--surface", 0.45], ["--text", 0.35], ["--surface", 0.65]];

/** Colours of all nodes under a colouring: { colours: 0xbbggrr each, faded: 0 or 1 each }. `only` isolates categories, `framed` nodes. */
function colourNodes(colouring, only, framed) {
  const n = report.nodes;
  const colours = new Uint32Array(n), faded = new Uint8Array(n);
  const pack = ([r, g, b]) => Math.round(r) | (Math.round(g) << 8) | (Math.round(b) << 16);
  if (colouring.kind === "number") {
    const grey = pack(rgb(themed("--other")));
    const steps = Array.from({ length: 256 }, (_, i) => pack(onScale(i / 255)));
    const along = spread(colouring);
    const [low, high] = [colouring.low, colouring.high].map(along);
    colouring.data.forEach((v, i) => {
      const share = (along(v) - low) / (high - low || 1);
      colours[i] = Number.isNaN(share) ? grey : steps[Math.round(255 * Math.min(1, Math.max(0, share)))];
    });
  } else {
    const table = colouring.names.map((_, c) => pack(categoryColour(colouring, c)));
    colouring.data.forEach((c, i) => { colours[i] = table[c]; });
  }
  for (let i = 0; i < n; i++) {
    const isolated = !only.size || only.has(Math.min(colouring.data[i], MANY));
    faded[i] = isolated && (!framed || framed[i]) ? 0 : 1;
  }
  return { colours, faded };
}

/** How values lie along the scale of a colouring: those far apart by their logarithm. */
const spread = (colouring) => (colouring.log ? (v) => Math.log1p(Math.max(v, 0)) : (v) => v);

function categoryColour(colouring, c) {
  if (c >= MANY || c === colouring.missing) return rgb(themed("--other"));
  const colours = palette(), [towards, share] = SHADES[Math.floor(c / colours.length)];
  return mix(rgb(colours[c % colours.length]), rgb(themed(towards)), share);
}

function chip(colour) {
  const dot = element("span", { class: "chip" });
  dot.style.backgroundColor = `rgb(${colour.join(" ")})`;
  return dot;
}

/** What a colouring says about a node. */
function valueOf(colouring, i) {
  return colouring.kind === "number" ? short(colouring.data[i]) : colouring.names[colouring.data[i]];
}

/** The legend, counting `framed` nodes if there are any; `onIsolate` is told which categories the reader picked (none: all). */
function drawLegend(box, colouring, only, framed, onIsolate) {
  box.replaceChildren();
  if (colouring.kind === "number") {
    const { low, high, log } = colouring;
    const middle = log ? Math.round(Math.sqrt((1 + low) * (1 + high)) - 1) : (low + high) / 2;
    const ramp = element("canvas", { class: "ramp", width: 128, height: 1, role: "img", "aria-label": "Colour scale" });
    paint(ramp, (i) => onScale(i / 127));
    const ends = [low, middle, high].map((v) => element("span", {}, short(Number(v.toPrecision(3)))));
    box.append(ramp, element("div", { class: "ends" }, ...ends));
    return;
  }
  const counts = framed ? colouring.counts.map(() => 0) : colouring.counts;
  framed?.forEach((inside, i) => { counts[colouring.data[i]] += inside; });
  const list = element("ul", { class: "rows" });
  const entry = (position, text, total) => {
    const button = element("button", { type: "button", "aria-pressed": only.has(position), title: text, "data-position": position },
      chip(categoryColour(colouring, position)), name(text, { class: "name" }), element("span", { class: "value" }, count(total)));
    button.addEventListener("click", () => {
      const next = new Set(only);
      if (!next.delete(position)) next.add(position);
      onIsolate(next, position);
    });
    list.append(element("li", {}, button));
  };
  const own = Array.from(counts.keys()).slice(0, MANY);
  if (framed) own.sort((a, b) => counts[b] - counts[a]);
  for (const c of own) if (counts[c] || only.has(c)) entry(c, colouring.names[c], counts[c]);
  const rest = counts.slice(MANY);
  if (rest.length) entry(MANY, `${count(rest.length)} others`, rest.reduce((sum, v) => sum + v, 0));
  box.append(list);
}

/** A function from a node to its nearest others, [{ node, similarity }], nearest first. */
function neighbourFinder({ k, index, similarity }) {
  const nodes = unpack(index), closeness = unpack(similarity);
  return (i) => {
    const places = Array.from({ length: k }, (_, j) => i * k + j);
    // A node with fewer neighbours than k names itself in the places left over.
    return places.filter((p) => nodes[p] !== i).map((p) => ({ node: nodes[p], similarity: closeness[p] / 32767 }));
  };
}

/** The selected node, what is known of it, and buttons for its neighbours in the map's `colours`; or how many nodes are framed. */
function drawSelection(box, i, framed, neighbours, colourings, colours, { onSelect, onPoint }) {
  box.replaceChildren();
  if (i < 0 && !framed) return;
  const close = element("button", { type: "button" }, "Clear");
  close.addEventListener("click", () => onSelect(-1));
  const head = (text) => box.append(element("div", { class: "selected" }, element("h3", {}, name(text, { class: "clip" })), close));
  if (i < 0) return head(`${count(framed.reduce((sum, v) => sum + v, 0))} nodes in the frame`);
  head(nameOf(i));
  const facts = element("dl", { class: "pairs" });
  if (report.names) facts.append(element("dt", {}, "id"), element("dd", {}, name(report.ids[i], { class: "clip" })));
  for (const colouring of colourings) facts.append(element("dt", {}, name(colouring.name)), element("dd", {}, name(valueOf(colouring, i), { class: "clip" })));
  const list = element("ol", { class: "rows", id: "neighbours" });
  for (const { node, similarity } of neighbours) {
    const colour = [0, 8, 16].map((bits) => (colours[node] >> bits) & 255);
    const button = element("button", { type: "button", title: `${nameOf(node)}, ${valueOf(colourings[0], node)}` },
      chip(colour), name(nameOf(node), { class: "name" }), element("span", { class: "value" }, similarity.toFixed(3)));
    button.addEventListener("click", () => onSelect(node));
    for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => onPoint(node));
    for (const event of ["pointerleave", "blur"]) button.addEventListener(event, () => onPoint(-1));
    list.append(element("li", {}, button));
  }
  const how = report.neighbours.exact ? "cosine similarity" : "cosine similarity; some may be missed";
  box.append(facts, element("h3", {}, "Nearest nodes ", element("span", { class: "muted small" }, how)), list);
}

/** Nodes as CSV (RFC 4180): id, name, and what every colouring says. */
function toCsv(nodes, colourings) {
  const columns = new Map([["id", (i) => report.ids[i]]]);
  if (report.names) columns.set("name", (i) => report.names[i] || "");
  for (const c of colourings) {
    const text = c.kind === "number" ? (i) => String(Number(c.data[i].toPrecision(7))) : (i) => valueOf(c, i);
    if (!columns.has(c.name)) columns.set(c.name, (i) => (c.data[i] === c.missing || Number.isNaN(c.data[i]) ? "" : text(i)));
  }
  const cell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const rows = [[...columns.keys()], ...nodes.map((i) => Array.from(columns.values(), (at) => at(i)))];
  return rows.map((row) => `${row.map(cell).join(",")}\n`).join("");
}

function download(text, file) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  element("a", { href: address, download: file }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** A field with suggestions: exact ids or names first, then those that begin with the text, then those that contain it. */
function searchField(input, list, onSelect) {
  const lower = report.ids.map((id, i) => `\n${id}\n${report.names?.[i] ?? ""}\n`.toLowerCase());
  let found = [], active = 0;
  const find = (text) => {
    const ranks = [[], [], []];
    const parts = [`\n${text}\n`, `\n${text}`, text];
    lower.forEach((own, i) => ranks[parts.findIndex((part) => own.includes(part))]?.push(i));
    return ranks.flat().slice(0, 8);
  };
  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const choose = (i) => {
    input.value = nameOf(i);
    close();
    onSelect(i);
  };
  const show = () => {
    list.replaceChildren();
    found.forEach((i, k) => {
      const option = element("li", { role: "option", id: `match-${k}`, "aria-selected": k === active }, name(nameOf(i)));
      if (nameOf(i) !== report.ids[i]) option.append(" ", name(report.ids[i], { class: "small" }));
      option.addEventListener("pointerdown", (event) => { event.preventDefault(); choose(i); });
      list.append(option);
    });
    if (!found.length) list.append(element("li", { class: "none" }, `No node has this in its ${report.names ? "id or name" : "id"}.`));
    else input.setAttribute("aria-activedescendant", `match-${active}`);
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
  };
  input.addEventListener("input", () => {
    const text = input.value.trim().toLowerCase();
    if (!text) return close();
    found = find(text);
    active = 0;
    show();
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return close();
    if (event.key === "Enter" && !list.hidden && found.length) return choose(found[active]);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || list.hidden || !found.length) return;
    event.preventDefault();
    active = (active + step + found.length) % found.length;
    show();
  });
  input.addEventListener("blur", close);
}
