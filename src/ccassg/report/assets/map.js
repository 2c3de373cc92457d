// The map: points in two dimensions that can be moved, zoomed, pointed at and selected.
// Points are blended into the pixels of one canvas by hand: 50 thousand take a few milliseconds on any machine, without
// a graphics card. What changes under the mouse (rings, lines) lies on a second canvas, so pointing redraws no points.

const WORLD = 65535; // positions are 16-bit numbers
const REACH = 12; // pixels around the pointer in which a node is found
const MIXED = 104729; // a prime beyond the number of nodes: drawn in steps of it, no part of the table covers the others
const NAMED = 40; // so many nodes in sight have their names beside them

function createMap({ points, overlay, x, y, onHover, onSelect, onFrame }) {
  const n = x.length;
  const view = { x: 0, y: 0, scale: 1, width: 1, height: 1, fitted: 1, ratio: 1, fineness: 1 };
  const index = gridIndex(x, y);
  let colours = new Uint32Array(n); // 0xbbggrr
  let faded = new Uint8Array(n); // 1: drawn pale, below the others, and not found by the pointer
  let focus = { selected: -1, neighbours: [], hovered: -1 };
  let frame = null; // two corners of a rectangle while it is drawn
  let named = []; // nodes with their names beside them: those in sight, if they are few
  let pixels = null;
  let pending = 0;

  const toScreen = (i) => [(x[i] - view.x) * view.scale + view.width / 2, (view.y - y[i]) * view.scale + view.height / 2];

  function resize() {
    const box = overlay.getBoundingClientRect();
    if (!box.width || !box.height) return;
    const wasFitted = view.scale === view.fitted;
    view.ratio = Math.min(2, window.devicePixelRatio || 1);
    // A crowd is drawn in plain pixels even on a fine screen, but a small one: four times as many would make it stutter.
    view.fineness = n > 20000 && box.width > 600 ? 1 : view.ratio;
    view.width = box.width;
    view.height = box.height;
    for (const [canvas, ratio] of [[points, view.fineness], [overlay, view.ratio]]) {
      canvas.width = Math.round(box.width * ratio);
      canvas.height = Math.round(box.height * ratio);
    }
    pixels = points.getContext("2d").createImageData(points.width, points.height);
    if (wasFitted) showAll();
    redraw();
  }

  function showAll() {
    const [left, right] = extent(x);
    const [bottom, top] = extent(y);
    const margin = 24;
    view.x = (left + right) / 2;
    view.y = (bottom + top) / 2;
    view.scale = view.fitted = Math.min(
      (view.width - 2 * margin) / Math.max(right - left, 1),
      (view.height - 2 * margin) / Math.max(top - bottom, 1),
    );
    redraw();
  }

  function zoom(factor, px = view.width / 2, py = view.height / 2) {
    const next = Math.min(view.fitted * 400, Math.max(view.fitted * 0.5, view.scale * factor));
    const change = 1 / view.scale - 1 / next;
    view.x += (px - view.width / 2) * change;
    view.y -= (py - view.height / 2) * change;
    view.scale = next;
    redraw();
  }

  function pan(dx, dy) {
    view.x -= dx / view.scale;
    view.y += dy / view.scale;
    redraw();
  }

  /** Put a node in the middle, zoomed in as far as keeps its neighbours in sight. */
  function centreOn(i, neighbours) {
    [view.x, view.y] = [x[i], y[i]];
    const reach = (values) => neighbours.reduce((far, j) => Math.max(far, Math.abs(values[j] - values[i])), 1);
    const wanted = Math.min((0.45 * view.width) / reach(x), (0.45 * view.height) / reach(y));
    view.scale = Math.min(view.fitted * 5, Math.max(view.fitted * 0.5, wanted));
    redraw();
  }

  /** Radius of a point in pixels: smaller in a crowd, growing a little on the way in. */
  function radius() {
    const crowd = Math.max(1.5, Math.min(7, 40 / n ** 0.3)) * Math.min(1, Math.max(0.6, view.width / 600));
    return Math.min(8, crowd * Math.max(1, view.scale / view.fitted) ** 0.3);
  }

  function redraw() {
    if (!pending) pending = requestAnimationFrame(() => { pending = 0; drawPoints(); drawOverlay(); });
  }

  /** Nodes on the screen between two corners. */
  function within([ax, ay], [bx, by]) {
    const found = [];
    for (let i = 0; i < n; i++) {
      const [sx, sy] = toScreen(i);
      if (sx >= Math.min(ax, bx) && sx <= Math.max(ax, bx) && sy >= Math.min(ay, by) && sy <= Math.max(ay, by)) found.push(i);
    }
    return found;
  }

  /** Write names beside their points, but none over another name or point. */
  function drawNames(context) {
    const gap = radius() + 4;
    const taken = named.map((i) => toScreen(i)).map(([sx, sy]) => ({ left: sx - gap, right: sx + gap, y: sy }));
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = themed("--text");
    context.strokeStyle = themed("--surface");
    context.lineWidth = 3;
    for (const i of named) {
      const [sx, sy] = toScreen(i);
      const text = nameOf(i).slice(0, 24), width = context.measureText(text).width;
      const free = (left) => left > 0 && left + width < view.width
        && !taken.some((box) => Math.abs(box.y - sy) < 14 && left < box.right && left + width > box.left);
      const left = [sx + gap, sx - gap - width].find(free);
      if (left === undefined) continue;
      taken.push({ left, right: left + width, y: sy });
      context.strokeText(text, left, sy + 4);
      context.fillText(text, left, sy + 4);
    }
  }

  function drawPoints() {
    if (!pixels) return;
    const buffer = new Uint32Array(pixels.data.buffer);
    const [r, g, b] = rgb(themed("--surface"));
    const paper = r | (g << 8) | (b << 16);
    buffer.fill(paper | 0xff000000);
    const disc = discMask(radius() * view.fineness);
    if (faded.includes(1)) splat(buffer, disc, 1, n > 20000 ? 12 : 36, paper);
    splat(buffer, disc, 0, n > 20000 ? 190 : 225, paper);
    points.getContext("2d").putImageData(pixels, 0, 0);
    named = within([0, 0], [view.width, view.height]).filter((i) => !faded[i]);
    if (named.length > NAMED) named = [];
  }

  /** Blend the disc of every point whose fading is `which` into the buffer; opacity is out of 256. */
  function splat(buffer, disc, which, opacity, paper) {
    const { width, height } = pixels;
    const { reach, dx, dy } = disc;
    const size = dx.length;
    const offset = dx.map((column, c) => dy[c] * width + column);
    const amount = disc.inside.map((v) => (v * opacity) >> 8);
    // A thin rim in the colour of the paper keeps neighbours apart where points overlap.
    const rim = which === 0 ? disc.rim : new Int32Array(size);
    const scale = view.scale * view.fineness;
    const left = width / 2 - view.x * scale, top = height / 2 + view.y * scale;
    for (let k = 0; k < n; k++) {
      const i = (k * MIXED) % n;
      if (faded[i] !== which) continue;
      const px = Math.round(left + x[i] * scale), py = Math.round(top - y[i] * scale);
      if (px < -reach || py < -reach || px >= width + reach || py >= height + reach) continue;
      const whole = px >= reach && py >= reach && px < width - reach && py < height - reach;
      const centre = py * width + px, colour = colours[i];
      for (let c = 0; c < size; c++) {
        if (!whole && (px + dx[c] < 0 || py + dy[c] < 0 || px + dx[c] >= width || py + dy[c] >= height)) continue;
        let pixel = buffer[centre + offset[c]];
        if (rim[c]) pixel = blend(pixel, paper, rim[c]);
        if (amount[c]) pixel = blend(pixel, colour, amount[c]);
        buffer[centre + offset[c]] = pixel;
      }
    }
  }

  function drawOverlay() {
    const context = overlay.getContext("2d");
    context.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
    context.clearRect(0, 0, view.width, view.height);
    const ink = themed("--text");
    drawNames(context);
    const { selected, neighbours, hovered } = focus;
    const size = radius();
    const ring = (i, extra, width) => {
      const [sx, sy] = toScreen(i);
      context.lineWidth = width;
      context.beginPath();
      context.arc(sx, sy, size + extra, 0, 2 * Math.PI);
      context.stroke();
    };
    context.strokeStyle = ink;
    context.lineWidth = 1;
    if (frame) context.strokeRect(...frame[0], frame[1][0] - frame[0][0], frame[1][1] - frame[0][1]);
    if (selected >= 0) {
      const [sx, sy] = toScreen(selected);
      context.globalAlpha = 0.45;
      for (const i of neighbours) {
        context.beginPath();
        context.moveTo(sx, sy);
        context.lineTo(...toScreen(i));
        context.stroke();
      }
      context.globalAlpha = 1;
      for (const i of neighbours) ring(i, 2, 1.5);
      ring(selected, 4, 3);
    }
    if (hovered >= 0) ring(hovered, 2.5, 2);
  }

  function nodeAt(px, py) {
    const wx = (px - view.width / 2) / view.scale + view.x;
    const wy = view.y - (py - view.height / 2) / view.scale;
    return index.nearest(wx, wy, Math.max(REACH, radius()) / view.scale, (i) => !faded[i]);
  }

  function hover(i, px, py) {
    overlay.classList.toggle("over", i >= 0);
    if (i !== focus.hovered) {
      focus.hovered = i;
      drawOverlay();
    }
    onHover(i, px, py);
  }

  /** Follow the corner of a rectangle; at its end, tell which nodes it holds. */
  function drawFrame(from, to, done) {
    frame = done ? null : [from, to];
    drawOverlay();
    if (done) onFrame(within(from, to));
  }

  const frameNext = listen(overlay, { drawFrame, pan, zoom, showAll, nodeAt, hover, select: onSelect });
  new ResizeObserver(resize).observe(overlay);
  resize();

  return {
    showAll, zoom, centreOn, frameNext,
    colour(next, pale) {
      colours = next;
      faded = pale;
      redraw();
    },
    focusOn(selected, neighbours) {
      focus = { selected, neighbours, hovered: -1 };
      redraw();
    },
    point(i) {
      focus.hovered = i;
      drawOverlay();
    },
  };
}

/** Mouse, touch (one finger moves, two zoom), wheel and keys. Returns what makes the next drag draw a frame, as Shift does. */
function listen(overlay, { drawFrame, pan, zoom, showAll, nodeAt, hover, select }) {
  const held = new Map();
  let travelled = 0, framing = false, corner = null;
  const frameNext = (next = !framing) => {
    framing = next;
    overlay.classList.toggle("framing", framing);
  };
  const place = (event) => {
    const box = overlay.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  overlay.addEventListener("pointerdown", (event) => {
    overlay.setPointerCapture(event.pointerId);
    if (!held.size) {
      travelled = 0;
      corner = framing || event.shiftKey ? place(event) : null;
    }
    held.set(event.pointerId, place(event));
  });
  overlay.addEventListener("pointermove", (event) => {
    const [px, py] = place(event);
    const before = held.get(event.pointerId);
    if (!before) return hover(nodeAt(px, py), px, py);
    const dx = px - before[0], dy = py - before[1];
    travelled += Math.abs(dx) + Math.abs(dy);
    if (corner) {
      drawFrame(corner, [px, py], false);
    } else if (held.size === 2) {
      const other = [...held].find(([id]) => id !== event.pointerId)[1];
      const grown = Math.hypot(px - other[0], py - other[1]) / Math.max(1, Math.hypot(before[0] - other[0], before[1] - other[1]));
      zoom(grown, (px + other[0]) / 2, (py + other[1]) / 2);
      pan(dx / 2, dy / 2);
    } else if (travelled > 3) {
      overlay.classList.add("moving");
      hover(-1);
      pan(dx, dy);
    }
    held.set(event.pointerId, [px, py]);
  });
  const release = (event) => {
    held.delete(event.pointerId);
    corner = null;
    overlay.classList.remove("moving");
  };
  overlay.addEventListener("pointerup", (event) => {
    if (corner) {
      drawFrame(corner, place(event), true);
      frameNext(false);
    } else if (held.size === 1 && travelled <= 3) select(nodeAt(...place(event)));
    release(event);
  });
  overlay.addEventListener("pointercancel", release);
  overlay.addEventListener("pointerleave", () => hover(-1));
  overlay.addEventListener("dblclick", (event) => zoom(2, ...place(event)));
  overlay.addEventListener("wheel", (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    zoom(Math.exp(-Math.max(-150, Math.min(150, event.deltaY * lines)) * 0.002), ...place(event));
  }, { passive: false });
  overlay.addEventListener("keydown", (event) => {
    const step = 60;
    const actions = {
      ArrowLeft: () => pan(step, 0), ArrowRight: () => pan(-step, 0), ArrowUp: () => pan(0, step), ArrowDown: () => pan(0, -step),
      "+": () => zoom(1.4), "=": () => zoom(1.4), "-": () => zoom(1 / 1.4), 0: showAll, Escape: () => select(-1),
    };
    if (actions[event.key] && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      actions[event.key]();
    }
  });
  return frameNext;
}

/** Nodes sorted into square cells, so that finding the nearest looks at a handful. */
function gridIndex(x, y) {
  const n = x.length;
  const side = Math.max(1, Math.ceil(Math.sqrt(n / 3)));
  const cell = (v) => Math.max(0, Math.min(side - 1, Math.floor((v / (WORLD + 1)) * side)));
  const starts = new Uint32Array(side * side + 1);
  for (let i = 0; i < n; i++) starts[cell(y[i]) * side + cell(x[i]) + 1]++;
  for (let c = 0; c < side * side; c++) starts[c + 1] += starts[c];
  const next = starts.slice();
  const members = new Uint32Array(n);
  for (let i = 0; i < n; i++) members[next[cell(y[i]) * side + cell(x[i])]++] = i;
  return {
    nearest(wx, wy, reach, admits) {
      let best = -1, bestDistance = reach * reach;
      for (let row = cell(wy - reach); row <= cell(wy + reach); row++) {
        for (let k = starts[row * side + cell(wx - reach)]; k < starts[row * side + cell(wx + reach) + 1]; k++) {
          const i = members[k];
          const distance = (x[i] - wx) ** 2 + (y[i] - wy) ** 2;
          if (distance <= bestDistance && admits(i)) [best, bestDistance] = [i, distance];
        }
      }
      return best;
    },
  };
}

/** The pixels of a disc around (0, 0): where they are, and how much (0 .. 256) disc and rim cover of them. */
function discMask(radius) {
  const rimWidth = radius > 2 ? 0.8 : 0;
  const reach = Math.max(1, Math.ceil(radius + rimWidth + 0.5) - 1);
  const cover = (distance, r) => Math.round(256 * Math.max(0, Math.min(1, r + 0.5 - distance)));
  const cells = [];
  for (let dy = -reach; dy <= reach; dy++) {
    for (let dx = -reach; dx <= reach; dx++) {
      const distance = Math.hypot(dx, dy);
      const inside = cover(distance, radius), rim = rimWidth && inside < 256 ? 0.6 * cover(distance, radius + rimWidth) : 0;
      if (inside || rim) cells.push({ dx, dy, inside, rim });
    }
  }
  const column = (key) => Int32Array.from(cells, (cell) => cell[key]);
  return { reach, dx: column("dx"), dy: column("dy"), inside: column("inside"), rim: column("rim") };
}

/** `amount` (0 .. 256) of `top` over `below`, both 0x(aa)bbggrr; two channels at a time. */
function blend(below, top, amount) {
  const keep = 256 - amount;
  const redBlue = (((below & 0xff00ff) * keep + (top & 0xff00ff) * amount) >>> 8) & 0xff00ff;
  const green = (((below & 0x00ff00) * keep + (top & 0x00ff00) * amount) >>> 8) & 0x00ff00;
  return redBlue | green | 0xff000000;
}

function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const v of values) { if (v < low) low = v; if (v > high) high = v; }
  return [low, high];
}
