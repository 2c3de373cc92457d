// What every part of the page shares: the data, building elements, numbers as text, colours.
// Text from the data reaches the page through textContent alone; nothing here parses HTML.

const report = JSON.parse(document.getElementById("data").textContent);

const ARRAYS = {
  int8: Int8Array, int16: Int16Array, uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, float32: Float32Array,
};

/** The typed array that the Python side packed as base64 (little-endian, as are all machines with browsers). */
function unpack(packed) {
  const text = atob(packed.data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
  return new ARRAYS[packed.type](bytes.buffer);
}

/** What people call a node: its name, where it has one, else its id. */
const nameOf = (i) => report.names?.[i] || report.ids[i];

const byId = (id) => document.getElementById(id);

/** A new element. Children are elements, or anything else, which becomes text. */
function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  for (const child of children) node.append(child instanceof Node ? child : String(child));
  return node;
}

/** A user's text, isolated so that right-to-left names do not reorder what stands beside them. */
const name = (text, attributes = {}) => element("bdi", attributes, text);

const count = (n) => n.toLocaleString("en");

/** A number in as few digits as it needs. */
function short(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (Number.isInteger(value)) return Math.abs(value) < 1e9 ? count(value) : String(value);
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2).replace(/\.?0*e\+?/, "e");
  return String(Number(value.toPrecision(4)));
}

const percent = (fraction, digits = 1) => `${(100 * fraction).toFixed(digits)} %`;

function duration(seconds) {
  if (seconds < 1) return `${Math.round(1000 * seconds)} ms`;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  if (seconds < 7200) return `${(seconds / 60).toFixed(1)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

function bytes(n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = n < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(n) / 3));
  return `${(n / 1000 ** power).toFixed(power ? 1 : 0)} ${units[power]}`;
}

// Okabe and Ito's colours, then Tol's muted ones: distinct for all common kinds of colour blindness while few are used.
// On the dark page the darkest are replaced by lighter ones of the same hue.
const LIGHT = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#d2bf0a", "#332288", "#882255", "#44aa99",
  "#999933", "#aa4499", "#117733", "#cc6677", "#88ccee", "#6b4c2a"];
const DARK = ["#3b9fe0", "#e69f00", "#00b98a", "#e08fbd", "#f07a2a", "#8fd0f5", "#f0e442", "#8a7fe0", "#c4628f", "#5fd0be",
  "#b9b95a", "#d07ac8", "#4caf70", "#e08a98", "#bfe4f7", "#b08d62"];
// A scale from dark blue to yellow (after viridis, without its palest end), which also works in grey.
const SCALE = ["#440154", "#482878", "#3e4a89", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b"];
const SCALE_DARK = ["#5b4b9a", "#4f6bb0", "#3f88b5", "#2fa0ae", "#2fb79b", "#55c97f", "#8fd75c", "#c4e04a", "#fde725"];

const darkMode = matchMedia("(prefers-color-scheme: dark)");
const palette = () => (darkMode.matches ? DARK : LIGHT);

/** A colour of the style sheet, as "#rrggbb" or whatever stands there. */
const themed = (variable) => getComputedStyle(document.documentElement).getPropertyValue(variable).trim();

const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
const mix = (a, b, share) => a.map((v, i) => v + (b[i] - v) * share);

/** The colour at `share` (0 .. 1) of the number scale, as three numbers. */
function onScale(share) {
  const stops = darkMode.matches ? SCALE_DARK : SCALE;
  const place = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const i = Math.min(stops.length - 2, Math.floor(place));
  return mix(rgb(stops[i]), rgb(stops[i + 1]), place - i);
}
