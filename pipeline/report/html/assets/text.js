// Text that is only ever shown: every node is built from strings with textContent, never parsed as HTML.

const words = JSON.parse(document.getElementById("data-texts").textContent);
const SHAPES = { POS: "▲", NORM: "●", NEG: "▼" };
const EMOTIONS = ["POS", "NORM", "NEG"];
// Characters that act or hide instead of being seen; markup.py has the same.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const EMOJI = /\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f/u;

function say(key, values) {
  return (words[key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => (values && name in values ? values[name] : whole));
}

// Build an element. Attributes: null and false leave one out. Children: nodes, or strings that become text.
function el(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "onclick") node.addEventListener("click", value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// Return a text as nodes, with hidden characters shown by their code.
function shown(text) {
  const parts = document.createDocumentFragment();
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    const before = Array.from(text.slice(Math.max(0, match.index - 2), match.index)).at(-1) ?? "";
    if (match[0] === "\u200d" && EMOJI.test(before)) continue; // an emoji of several parts
    parts.append(text.slice(from, match.index));
    const code = match[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
    parts.append(el("span", { class: "hidden-char" }, `[U+${code}]`));
    from = match.index + match[0].length;
  }
  parts.append(text.slice(from));
  return parts;
}

// The same as a string, for tooltips.
function shownString(text) {
  return shown(text).textContent;
}

function emotionName(emotion) {
  return el("span", { class: `e-${emotion}` }, `${SHAPES[emotion]} ${say(emotion)}`);
}

function percent(share, digits = 0) {
  return share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`;
}

// Return a field's text with its spans marked. Spans may overlap: the text is cut at every edge, and each piece is
// wrapped by all spans over it, the longest outermost.
//   spans: {start, end, kind: "gold" | "pred" | "heat", emotion, entity, weight}, in code points.
function marked(text, spans) {
  const chars = Array.from(text);
  const inside = spans.filter((span) => span.start < span.end && span.end <= chars.length);
  const edges = new Set([0, chars.length]);
  for (const span of inside) edges.add(span.start).add(span.end);
  const cuts = [...edges].sort((a, b) => a - b);
  const order = ["heat", "pred", "gold"];
  inside.sort((a, b) => a.end - a.start - (b.end - b.start) || b.start - a.start || order.indexOf(a.kind) - order.indexOf(b.kind));
  const parts = document.createDocumentFragment();
  for (let index = 0; index + 1 < cuts.length; index++) {
    const [start, end] = [cuts[index], cuts[index + 1]];
    let node = shown(chars.slice(start, end).join(""));
    for (const span of inside) {
      if (span.start <= start && span.end >= end) node = wrapped(node, span, span.start === start, span.end === end);
    }
    parts.append(node);
  }
  return parts;
}

function wrapped(node, span, isStart, isEnd) {
  if (span.kind === "heat") {
    const heat = el("span", { class: "heat", title: span.weight.toFixed(3) }, node);
    heat.style.setProperty("--heat", String(Math.min(1, Math.max(0, span.weight))));
    return heat;
  }
  const kind = span.kind === "gold" ? say("gold") : say("predicted");
  const mark = el(
    "mark",
    {
      class: `${span.kind} m-${span.emotion}${isStart ? " start" : ""}${isEnd ? " end" : ""}`,
      title: `${kind}: ${shownString(span.entity)} ${SHAPES[span.emotion]} ${say(span.emotion)}`,
    },
    node,
  );
  mark.dataset.entity = span.entity;
  return mark;
}

function startTheme() {
  const root = document.documentElement;
  try {
    const kept = localStorage.getItem("report-theme");
    if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  } catch {
    // Some browsers keep nothing for files; the toggle works all the same.
  }
  document.getElementById("theme").addEventListener("click", () => {
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = root.dataset.theme ?? (isDark ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("report-theme", root.dataset.theme);
    } catch {
      // As above.
    }
  });
}
