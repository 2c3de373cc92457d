// Beside the map: the legend, the selected node with its nearest neighbours, and the search field.

const MANY = 16; // categories with a colour of their own; the rest share a grey

/** Colours of all nodes under a colouring: { colours: 0xbbggrr each, faded: 0 or 1 each }. `only` isolates categories. */
function colourNodes(colouring, only) {
  const n = report.nodes;
  const colours = new Uint32Array(n), faded = new Uint8Array(n);
  const pack = ([r, g, b]) => Math.round(r) | (Math.round(g) << 8) | (Math.round(b) << 16);
  const grey = pack(rgb(themed("--other")));
  if (colouring.kind === "number") {
    const steps = Array.from({ length: 256 }, (_, i) => pack(onScale(i / 255)));
    const span = colouring.high - colouring.low || 1;
    colouring.data.forEach((v, i) => {
      const share = (v - colouring.low) / span;
      colours[i] = Number.isNaN(share) ? grey : steps[Math.round(255 * Math.min(1, Math.max(0, share)))];
    });
  } else {
    const table = colouring.names.map((_, c) => pack(rgb(categoryColour(colouring, c))));
    colouring.data.forEach((c, i) => {
      colours[i] = table[c];
      faded[i] = only.size && !only.has(Math.min(c, MANY)) ? 1 : 0;
    });
  }
  return { colours, faded };
}

function categoryColour(colouring, c) {
  return c >= MANY || c === colouring.missing ? themed("--other") : palette()[c % palette().length];
}

/** What a colouring says about a node. */
function valueOf(colouring, i) {
  return colouring.kind === "number" ? short(colouring.data[i]) : colouring.names[colouring.data[i]];
}

/** The legend; `onIsolate` is told which categories the reader picked (none: all). */
function drawLegend(box, colouring, only, onIsolate) {
  box.replaceChildren();
  if (colouring.kind === "number") {
    const ramp = element("canvas", { class: "ramp", width: 128, height: 1, role: "img", "aria-label": "Colour scale" });
    paint(ramp, (i) => onScale(i / 127));
    box.append(ramp, element("div", { class: "ends" }, element("span", {}, short(colouring.low)), element("span", {}, short(colouring.high))));
    return;
  }
  const list = element("ul", { class: "rows" });
  const entry = (position, text, total, colour) => {
    const chip = element("span", { class: "chip" });
    chip.style.backgroundColor = colour;
    const button = element("button", { type: "button", "aria-pressed": only.has(position), title: text },
      chip, name(text, { class: "name" }), element("span", { class: "value" }, count(total)));
    button.addEventListener("click", () => {
      const next = new Set(only);
      if (!next.delete(position)) next.add(position);
      onIsolate(next, position);
    });
    list.append(element("li", {}, button));
  };
  const shown = Math.min(MANY, colouring.names.length);
  for (let c = 0; c < shown; c++) entry(c, colouring.names[c], colouring.counts[c], categoryColour(colouring, c));
  const rest = colouring.counts.slice(MANY);
  if (rest.length) entry(MANY, `${count(rest.length)} others`, rest.reduce((sum, v) => sum + v, 0), themed("--other"));
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

/** The selected node, what is known of it, and buttons for its neighbours. */
function drawSelection(box, i, neighbours, colourings, { onSelect, onPoint }) {
  box.replaceChildren();
  if (i < 0) return;
  const close = element("button", { type: "button" }, "Clear");
  close.addEventListener("click", () => onSelect(-1));
  const facts = element("dl", { class: "pairs" });
  for (const colouring of colourings) facts.append(element("dt", {}, name(colouring.name)), element("dd", {}, name(valueOf(colouring, i), { class: "clip" })));
  const list = element("ol", { class: "rows", id: "neighbours" });
  for (const { node, similarity } of neighbours) {
    const label = valueOf(colourings[0], node);
    const button = element("button", { type: "button", title: `${report.ids[node]}, ${label}` });
    if (colourings[0].kind === "category") {
      const chip = element("span", { class: "chip" });
      chip.style.backgroundColor = categoryColour(colourings[0], colourings[0].data[node]);
      button.append(chip);
    }
    button.append(name(report.ids[node], { class: "name" }), element("span", { class: "value" }, similarity.toFixed(3)));
    button.addEventListener("click", () => onSelect(node));
    for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => onPoint(node));
    for (const event of ["pointerleave", "blur"]) button.addEventListener(event, () => onPoint(-1));
    list.append(element("li", {}, button));
  }
  const how = report.neighbours.exact ? "cosine similarity" : "cosine similarity; some may be missed";
  box.append(
    element("div", { class: "selected" }, element("h3", {}, name(report.ids[i], { class: "clip" })), close), facts,
    element("h3", {}, "Nearest nodes ", element("span", { class: "muted small" }, how)), list,
  );
}

/** A field with suggestions: exact ids first, then those that begin with the text, then those that contain it. */
function searchField(input, list, onSelect) {
  const lower = report.ids.map((id) => id.toLowerCase());
  let found = [], active = 0;
  const find = (text) => {
    const ranks = [[], [], []];
    for (let i = 0; i < lower.length; i++) {
      const at = lower[i].indexOf(text);
      if (at >= 0) ranks[lower[i] === text ? 0 : at === 0 ? 1 : 2].push(i);
    }
    return ranks.flat().slice(0, 8);
  };
  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const choose = (i) => {
    input.value = report.ids[i];
    close();
    onSelect(i);
  };
  const show = () => {
    list.replaceChildren();
    found.forEach((i, k) => {
      const option = element("li", { role: "option", id: `match-${k}`, "aria-selected": k === active }, name(report.ids[i]));
      option.addEventListener("pointerdown", (event) => { event.preventDefault(); choose(i); });
      list.append(option);
    });
    if (!found.length) list.append(element("li", { class: "none" }, "No node has this in its id."));
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
