// The article browser: loads the files of data/ when they are needed; filters, search, keys and links.

const about = JSON.parse(document.getElementById("data-report").textContent);
const [ID, TITLE, FLAGS, BITS, SLICES, SCORE, ENTITIES] = [0, 1, 2, 3, 4, 5, 6];
const FILES_KEPT = 8;
const $ = (id) => document.getElementById(id);
const rows = []; // of the index, in gold order
let matches = []; // numbers of the articles that the list shows
let current = -1; // number of the article in view
let isComplete = false; // the index
let search = 0; // counts searches, so that an old one stops

// Reading the data files ------------------------------------------------------------------------------------------

const waiting = new Map();
const kept = new Map();
window.reportData = (kind, number, value) => {
  const key = `${kind}-${number}`;
  waiting.get(key)?.(value);
  waiting.delete(key);
};

function load(kind, number) {
  return new Promise((resolve, reject) => {
    const file = `data/${kind}-${number}.js`;
    const script = el("script", { src: file });
    waiting.set(`${kind}-${number}`, resolve);
    script.addEventListener("error", () => reject(new Error(say("load_failed", { file }))));
    script.addEventListener("load", () => script.remove());
    document.head.append(script);
  });
}

// Return an article; the files read last are kept.
async function article(index) {
  const number = Math.floor(index / about.articles_a_file);
  const file = kept.get(number) ?? load("articles", number);
  kept.delete(number);
  kept.set(number, file);
  if (kept.size > FILES_KEPT) kept.delete(kept.keys().next().value);
  file.catch(() => kept.delete(number));
  return (await file)[index % about.articles_a_file];
}

async function loadIndex() {
  for (let number = 0; number * about.rows_a_file < about.n_articles; number++) {
    const part = await load("index", number);
    if (part.stamp !== about.stamp) throw new Error(say("other_report"));
    for (const row of part.rows) rows.push(row);
    applyFilters();
    followLink();
  }
  isComplete = true;
  applyFilters();
  followLink();
}

// Filters and search ----------------------------------------------------------------------------------------------

function applyFilters() {
  const token = ++search;
  const query = $("search").value.trim().toLowerCase();
  const passes = rowFilter();
  const passing = [];
  matches = [];
  rows.forEach((row, index) => {
    if (!passes(row)) return;
    passing.push(index);
    if (!query || inRow(row, query)) matches.push(index);
  });
  showMatches();
  if (query && $("search_texts").checked && isComplete) searchTexts(token, query, passing);
}

function rowFilter() {
  const reason = $("filter_reason").value;
  const emotion = $("filter_emotion").value;
  const slice = $("filter_slice").value;
  const bit = about.flags.includes(reason) ? 1 << about.flags.indexOf(reason) : 0;
  return (row) => {
    if (reason === "any_error" ? !row[FLAGS] : reason === "all_right" ? row[FLAGS] : bit && !(row[FLAGS] & bit)) return false;
    if (emotion && !(row[BITS] & (1 << Number(emotion)))) return false;
    return !slice || row[SLICES].includes(Number(slice));
  };
}

function inRow(row, query) {
  row.searched ??= `${row[ID]}\n${row[TITLE]}\n${row[ENTITIES]}`.toLowerCase();
  return row.searched.includes(query);
}

// Add the articles whose text holds the query, file by file so that the page stays alive.
async function searchTexts(token, query, passing) {
  const found = new Set(matches);
  const left = new Map();
  for (const index of passing) {
    const number = Math.floor(index / about.articles_a_file);
    if (!found.has(index)) left.set(number, [...(left.get(number) ?? []), index]);
  }
  let n = passing.length - [...left.values()].reduce((sum, some) => sum + some.length, 0);
  let shownAt = performance.now();
  for (const [number, some] of left) {
    const views = await (kept.get(number) ?? load("articles", number));
    if (token !== search) return;
    n += some.length;
    for (const index of some) {
      if (views[index % about.articles_a_file].content.toLowerCase().includes(query)) found.add(index);
    }
    if (performance.now() - shownAt > 250) {
      matches = [...found].sort((a, b) => a - b);
      showMatches(say("searching", { n, total: passing.length }));
      shownAt = performance.now();
    }
  }
  matches = [...found].sort((a, b) => a - b);
  showMatches();
  document.documentElement.dataset.searched = query;
}

function showMatches(progress) {
  if ($("sort").value === "worst") matches.sort((a, b) => rows[a][SCORE] - rows[b][SCORE] || a - b);
  const total = isComplete ? about.n_articles : rows.length;
  let text = say("matches", { n: matches.length.toLocaleString("en"), total: total.toLocaleString("en") });
  if (!isComplete) text += ` · ${say("loading")}`;
  else if (progress) text += ` · ${progress}`;
  else if (!matches.length) text = say("none_found");
  $("matches").textContent = text;
  list.fill(matches.length, matches.indexOf(current));
}

function setFilters({ reason = "", emotion = "", slice = "", query = "" }) {
  $("filter_reason").value = reason;
  $("filter_emotion").value = emotion;
  $("filter_slice").value = slice;
  $("search").value = query;
  $("list").scrollTop = 0;
  applyFilters();
}

function fillChoices() {
  const bits = [...EMOTIONS.map((name) => ["gold", name]), ...EMOTIONS.map((name) => ["predicted", name])];
  bits.forEach(([kind, name], bit) => {
    $("filter_emotion").append(el("option", { value: bit }, `${say(kind)} ${SHAPES[name]} ${say(name)}`));
  });
  const groups = new Map();
  about.slices.forEach(([name, value], number) => {
    groups.set(name, [...(groups.get(name) ?? []), [sliceValue(value), number]]);
  });
  for (const [name, values] of groups) {
    values.sort((a, b) => a[0].localeCompare(b[0], undefined, { numeric: true }));
    const options = values.map(([value, number]) => el("option", { value: number }, shownString(value)));
    $("filter_slice").append(el("optgroup", { label: sliceWord(name) }, ...options));
  }
  $("search_texts").checked = about.n_articles <= 5000;
}

// The article in view ---------------------------------------------------------------------------------------------

const list = new LongList($("list"), $("rows"), { draw: drawRow, choose: (position) => open(matches[position]) });

function drawRow(position) {
  const row = rows[matches[position]];
  const dots = el("span", { class: "dots" });
  about.flags.forEach((name, bit) => {
    if (row[FLAGS] & (1 << bit)) dots.append(el("span", { class: `key ${name}`, title: say(name) }));
  });
  if (!row[FLAGS]) dots.append(el("span", { class: "key right_emotion", title: say("all_right") }));
  return [
    el("span", { class: "row-title" }, row[TITLE] ? shown(row[TITLE]) : say("untitled")),
    el("span", { class: "row-more" }, el("code", {}, shown(row[ID])), dots, el("span", { class: "n" }, `${row[SCORE]} %`)),
  ];
}

async function open(index) {
  current = index;
  const link = `#article=${encodeURIComponent(safeId(rows[index][ID]))}`;
  if (location.hash !== link) location.replace(link);
  list.mark(matches.indexOf(index));
  $("articles").classList.add("reading");
  try {
    const view = await article(index);
    if (current !== index) return; // another one was opened meanwhile
    showArticle($("detail"), view, [navigation(link)]);
    $("detail").dataset.id = view.id;
    $("detail").scrollTop = 0;
  } catch (error) {
    $("detail").replaceChildren(el("p", { class: "error" }, error.message));
  }
}

// encodeURIComponent refuses half of a surrogate pair.
function safeId(id) {
  return id.toWellFormed ? id.toWellFormed() : id.replace(/[\ud800-\udfff]/g, "\ufffd");
}

function navigation(link) {
  const button = (key, act) => el("button", { type: "button", onclick: act }, say(key));
  const back = button("back", () => $("articles").classList.remove("reading"));
  back.classList.add("back");
  return el(
    "p",
    { class: "navigation" },
    back,
    button("previous", () => step(-1)),
    button("next_article", () => step(1)),
    el("a", { href: link }, say("link")),
  );
}

function step(by) {
  if (!matches.length) return;
  const position = matches.indexOf(current);
  const next = position < 0 ? 0 : Math.min(matches.length - 1, Math.max(0, position + by));
  if (matches[next] !== current) open(matches[next]);
}

function followLink() {
  if (!location.hash.startsWith("#article=")) return;
  let id = location.hash.slice("#article=".length);
  try {
    id = decodeURIComponent(id);
  } catch {
    // A link that was written by hand may hold a bare percent sign.
  }
  if (current >= 0 && safeId(rows[current][ID]) === id) return;
  const index = rows.findIndex((row) => safeId(row[ID]) === id);
  if (index >= 0) {
    if (!matches.includes(index)) setFilters({});
    // Once more when it is shown: on a small screen it takes the list's place.
    open(index).then(() => $("articles").scrollIntoView());
    $("articles").scrollIntoView();
  } else if (isComplete) {
    $("detail").replaceChildren(el("p", { class: "error" }, shown(say("unknown_article", { id }))));
    $("articles").classList.add("reading");
    $("articles").scrollIntoView();
  }
}

// Keys and clicks -------------------------------------------------------------------------------------------------

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, select, textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const inList = event.target.closest?.("#list") ?? null;
  const steps = { j: 1, ArrowRight: 1, k: -1, ArrowLeft: -1 };
  if (inList) Object.assign(steps, { ArrowDown: 1, ArrowUp: -1 });
  if (event.key in steps) step(steps[event.key]);
  else if (event.key === "/") $("search").focus();
  else return;
  event.preventDefault();
}

function onGo(event) {
  const button = event.target.closest("button[data-reason], button[data-slice]");
  if (!button) return;
  const { reason, slice, value } = button.dataset;
  if (reason) setFilters({ reason });
  else setFilters({ slice: String(about.slices.findIndex(([name, of]) => name === slice && of === value)) });
  $("articles").classList.remove("reading");
  $("articles").scrollIntoView();
}

let typing = 0;
$("search").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(applyFilters, 150);
});
for (const id of ["search_texts", "filter_reason", "filter_emotion", "filter_slice", "sort"]) {
  $(id).addEventListener("change", applyFilters);
}
$("reset").addEventListener("click", () => setFilters({}));
$("slice_table").addEventListener("change", (event) => {
  for (const row of document.querySelectorAll("tr[data-row]")) {
    row.hidden = event.target.value !== "" && row.dataset.row !== event.target.value;
  }
});
document.addEventListener("keydown", onKey);
document.addEventListener("click", onGo);
window.addEventListener("hashchange", followLink);
startTheme();
fillChoices();
// After the first paint: the figures are there at once, the list a moment later.
requestAnimationFrame(() => setTimeout(() => {
  loadIndex().catch((error) => {
    $("matches").textContent = error.message;
    $("matches").classList.add("error");
  });
}, 0));
