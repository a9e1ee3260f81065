"use strict";
// What the page does: it reads the data that it holds, keeps what is chosen in the address behind `#`, and draws the
// charts, the list of cases and the case that is opened. Without it, the tables above stay as they are.

const VERDICTS = { f: "failed", e: "error", m: "missing", u: "unsupported", p: "passed", "-": "not asked" };
const el = (id) => document.getElementById(id);

/** The value of a script element that holds JSON, compressed, in base64. */
async function unpack(id) {
  const text = el(id).textContent.trim();
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// ---- the cases ----

/** The cases with what filters and charts ask of them: `of(name)` says, for each case, the number of its value. */
class Cases {
  constructor(columns) {
    Object.assign(this, columns);
    this.length = this.id.length;
    this.lower = this.id.map((id) => id.toLowerCase());
    this.known = new Map();
  }
  tail(i) { return this.id[i].slice(this.id[i].lastIndexOf("/") + 1); }
  theme(i) { return this.id[i].split("/")[1] || ""; }
  decides(i) { return this.tier[i] !== "nonportable"; }
  names() { return ["operator", "dtype", "theme", ...new Set(this.traits.flatMap(Object.keys))]; }
  of(name) {
    if (!this.known.has(name)) this.known.set(name, this.values(name));
    return this.known.get(name);
  }
  values(name) {
    const values = [], number = new Map(), numbers = new Int32Array(this.length);
    const numberOf = (value) => {
      if (value === undefined) return -1;
      if (!number.has(value)) number.set(value, values.push(value) - 1);
      return number.get(value);
    };
    const trait = (i) => (Object.hasOwn(this.traits[i], name) ? this.traits[i][name] : undefined);
    const value = { operator: (i) => this.operator[i], dtype: (i) => this.dtype[i], theme: (i) => this.theme(i) }[name] || trait;
    for (let i = 0; i < this.length; i++) numbers[i] = numberOf(value(i));
    return { values, numbers };
  }
}

// ---- what is chosen, and the address that says so ----

const nothing = () => ({ runtime: 0, q: "", verdict: [], dtype: "", operator: "", why: "", has: [], from: null, to: null, differ: false, sort: "", all: false, case: "" });
let chosen = nothing();
const framed = location.protocol === "about:"; // as in a notebook: the address is not the page's own

function readAddress(hash = location.hash) {
  const given = new URLSearchParams(hash.slice(1)), now = nothing();
  const number = (name) => { const n = given.has(name) ? Number(given.get(name)) : null; return Number.isNaN(n) ? null : n; };
  now.runtime = Math.max(0, Math.min(page.runtimes.length - 1, Math.trunc(number("runtime") || 0)));
  for (const name of ["q", "dtype", "operator", "why", "sort", "case"]) now[name] = given.get(name) || "";
  now.verdict = (given.get("verdict") || "").split(",").filter((word) => Object.values(VERDICTS).includes(word));
  now.has = given.getAll("has").map((one) => one.split(/=(.*)/s).slice(0, 2)).filter((pair) => pair.length === 2);
  [now.from, now.to] = [number("from"), number("to")];
  [now.differ, now.all] = [given.has("differ"), given.has("all")];
  return now;
}

function address(now) {
  const said = new URLSearchParams();
  if (now.runtime) said.set("runtime", now.runtime);
  for (const name of ["q", "dtype", "operator", "why", "sort"]) if (now[name]) said.set(name, now[name]);
  if (now.verdict.length) said.set("verdict", now.verdict.join(","));
  for (const pair of now.has) said.append("has", pair.join("="));
  if (now.from !== null) said.set("from", now.from);
  if (now.to !== null) said.set("to", now.to);
  for (const name of ["differ", "all"]) if (now[name]) said.set(name, "1");
  if (now.case) said.set("case", now.case);
  return `#${said}`;
}

/** Choose something more. Opening a case is a step that Back undoes; other choices are not. */
function choose(change, step = false) {
  chosen = { ...chosen, ...change };
  if (!framed) history[step ? "pushState" : "replaceState"](null, "", address(chosen));
  update();
}

// ---- which cases are seen ----

const CONTEXT = 1, VERDICT = 2, RATIO = 4, HAS = 8, WHY = 16;
let page, cases, seen = [];

/** For each case the kinds of filters that leave it out, as bits: the table shows those with none. */
function leftOut() {
  const runtime = page.runtimes[chosen.runtime], out = new Uint8Array(cases.length);
  const words = chosen.q.toLowerCase().split(/\s+/).filter(Boolean);
  const letters = new Set(Object.keys(VERDICTS).filter((letter) => chosen.verdict.includes(VERDICTS[letter])));
  const has = chosen.has.map(([name, value]) => { const known = cases.of(name); return [known.numbers, known.values.indexOf(value)]; });
  for (let i = 0; i < cases.length; i++) {
    const letter = runtime.verdicts[i], ratio = runtime.ratio[i] < 0 ? Infinity : runtime.ratio[i];
    if ((chosen.dtype && cases.dtype[i] !== chosen.dtype) || (chosen.operator && cases.operator[i] !== chosen.operator) || !words.every((word) => cases.lower[i].includes(word))) out[i] |= CONTEXT;
    if (letters.size && !letters.has(letter)) out[i] |= VERDICT;
    if ((chosen.from !== null || chosen.to !== null) && (ratio === null || !(ratio >= (chosen.from || 0) && (ratio < chosen.to || chosen.to === null || (ratio === Infinity && chosen.to === Infinity))))) out[i] |= RATIO;
    if (!has.every(([numbers, value]) => value >= 0 && numbers[i] === value)) out[i] |= HAS;
    if (chosen.why && !(chosen.why === "none" ? letter === "f" && runtime.explained[i] < 0 : runtime.explained[i] === Number(chosen.why))) out[i] |= WHY;
    if (chosen.differ && page.runtimes.every((one) => one.verdicts[i] === letter)) out[i] |= WHY;
  }
  return out;
}

const THEMES = { plain: 0, plain_sizes: 1, core: 2 };
/** The order of the list: what went wrong first, and of that the plainest. */
function inOrder(indices) {
  const runtime = page.runtimes[chosen.runtime], order = Object.keys(VERDICTS).join("");
  const rank = (i) => order.indexOf(runtime.verdicts[i]) * 1e6 + (THEMES[cases.theme(i)] ?? 3) * 1e5 + (cases.tail(i) === "default" ? 0 : cases.tail(i).split("-").length * 1e3 + cases.tail(i).length);
  const by = {
    ratio: (i) => { const r = runtime.ratio[i]; return r === null ? -1 : r < 0 ? Infinity : r; },
    id: (i) => cases.lower[i],
  }[chosen.sort.replace("-", "")];
  const keys = new Map(indices.map((i) => [i, (by || rank)(i)]));
  const sign = chosen.sort.startsWith("-") ? -1 : 1;
  return indices.sort((a, b) => { const [x, y] = [keys.get(a), keys.get(b)]; return x < y ? -sign : x > y ? sign : a - b; });
}

// ---- filters ----

function select(label, name, options) {
  const made = make("select", { "aria-label": label, onchange: (event) => choose({ [name]: name === "runtime" ? Number(event.target.value) : event.target.value }) });
  for (const [value, text] of options) made.append(make("option", { value }, text));
  made.value = String(chosen[name]);
  return made;
}

/** The field for words stays the same while one types; the other filters are drawn anew. */
function prepareFilters() {
  let typing;
  const typed = () => { clearTimeout(typing); typing = setTimeout(() => choose({ q: el("search").value.trim() }), 120); };
  el("filters").append(make("input", { id: "search", type: "search", placeholder: "words of an id, such as reverse clip", "aria-label": "Words of an id", oninput: typed }), make("div", { id: "more-filters" }));
}

function drawFilters(count) {
  const runtime = page.runtimes[chosen.runtime];
  const counts = {};
  for (const letter of runtime.verdicts) counts[letter] = (counts[letter] || 0) + 1;
  const search = el("search");
  if (document.activeElement !== search) search.value = chosen.q;
  const active = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.key : null;
  const toggles = make("div", { class: "group", role: "group", "aria-label": "Verdict" });
  for (const [letter, word] of Object.entries(VERDICTS)) {
    if (!counts[letter]) continue;
    const on = chosen.verdict.includes(word);
    toggles.append(make("button", { type: "button", class: `chip ${word}`, "data-key": `verdict-${word}`, "aria-pressed": on ? "true" : "false", onclick: () => choose({ verdict: on ? chosen.verdict.filter((one) => one !== word) : [...chosen.verdict, word] }) }, make("i"), word, make("span", { class: "more" }, counts[letter].toLocaleString("en"))));
  }
  const chips = make("div", { class: "group" });
  const chip = (text, change) => chips.append(make("button", { type: "button", class: "chip set", "data-key": `set-${text}`, "aria-label": `${text}: remove this filter`, onclick: () => choose(change) }, text, " ×"));
  for (const pair of chosen.has) chip(pair.join(" "), { has: chosen.has.filter((one) => one !== pair) });
  if (chosen.from !== null || chosen.to !== null) chip(`${chosen.from === Infinity ? "" : `${ratioText(chosen.from || 0)} to `}${ratioText(chosen.to ?? Infinity)} × tolerance`, { from: null, to: null });
  if (address({ ...chosen, case: "", sort: "", all: false, runtime: 0 }) !== "#") chips.append(make("button", { type: "button", class: "chip", "data-key": "clear", onclick: () => choose({ ...nothing(), runtime: chosen.runtime, sort: chosen.sort, all: chosen.all }) }, "clear all"));
  const used = new Set(runtime.explained);
  const several = page.runtimes.length > 1;
  const sentences = runtime.explanations.map((text, n) => [String(n), text]).filter(([n]) => used.has(Number(n)));
  const unexplained = [...runtime.verdicts].some((letter, i) => letter === "f" && runtime.explained[i] < 0);
  el("more-filters").replaceChildren(...[
    several ? select("Runtime", "runtime", page.runtimes.map((one, n) => [String(n), one.name])) : null,
    toggles,
    select("dtype", "dtype", [["", "every dtype"], ...cases.of("dtype").values.map((v) => [v, v])]),
    cases.of("operator").values.length > 1 ? select("Operator", "operator", [["", "every operator"], ...cases.of("operator").values.map((v) => [v, v])]) : null,
    sentences.length ? select("Explained by", "why", [["", "explained or not"], ...(unexplained ? [["none", "failed and unexplained"]] : []), ...sentences]) : null,
    several ? make("button", { type: "button", class: "chip", "data-key": "differ", "aria-pressed": chosen.differ ? "true" : "false", onclick: () => choose({ differ: !chosen.differ }) }, "verdicts differ") : null,
    chips, make("output", { id: "count", "aria-live": "polite" }, `${count.toLocaleString("en")} of ${many(cases.length, "case")}`),
  ].filter(Boolean));
  if (active) document.querySelector(`[data-key="${CSS.escape(active)}"]`)?.focus();
}

// ---- charts ----

const MOST_TELLING = 5;

function drawHeatMap(out) {
  const verdicts = page.runtimes[chosen.runtime].verdicts, base = [];
  for (let i = 0; i < cases.length; i++) if (!(out[i] & CONTEXT) && cases.decides(i)) base.push(i);
  const every = telling(cases, base, verdicts), groups = chosen.all ? every : every.slice(0, MOST_TELLING);
  for (const [name] of chosen.has) { // what is filtered by stays in sight
    const one = every.find((group) => group.name === name);
    if (one && !groups.includes(one)) groups.push(one);
  }
  let total = 0;
  for (const group of groups) {
    group.place = new Int32Array(cases.of(group.name).values.length).fill(-1);
    for (const n of group.kept) group.place[n] = total++;
  }
  const asked = new Uint32Array(total * total), passed = new Uint32Array(total * total), at = new Int32Array(groups.length);
  for (const i of base) {
    const letter = verdicts[i];
    if (letter === "u" || letter === "-") continue;
    groups.forEach((group, g) => { at[g] = group.numbers[i] < 0 ? -1 : group.place[group.numbers[i]]; });
    for (let g = 0; g < at.length; g++) for (let h = 0; h <= g; h++) {
      if (at[g] < 0 || at[h] < 0) continue;
      asked[at[g] * total + at[h]]++;
      if (letter === "p") passed[at[g] * total + at[h]]++;
    }
  }
  const pairs = groups.flatMap((group) => group.values.map((value) => [group.name, value]));
  const now = chosen.has.map((pair) => pairs.findIndex((one) => one[0] === pair[0] && one[1] === pair[1])).filter((n) => n >= 0);
  const told = el("heat-told");
  told.textContent = "";
  el("heat-more").textContent = chosen.all ? "the most telling conditions only" : `all ${every.length} conditions that differ`;
  el("heat-more").hidden = every.length <= MOST_TELLING;
  if (!total) { el("heat-map").replaceChildren(make("p", { class: "empty" }, "These cases ask for one thing alone.")); return; }
  drawHeat(el("heat-map"), groups, (a, b) => ({ asked: asked[a * total + b], passed: passed[a * total + b] }), now, (some) => {
    const same = some.length === now.length && some.every((n) => now.includes(n));
    choose({ has: same ? [] : some.map((n) => pairs[n]) });
  }, told);
}

function drawCharts(out) {
  const runtime = page.runtimes[chosen.runtime], byDtype = new Map();
  drawHeatMap(out);
  for (let i = 0; i < cases.length; i++) {
    const ratio = runtime.ratio[i];
    if (ratio === null || out[i] & (CONTEXT | HAS | WHY) || !cases.decides(i)) continue;
    const dtype = cases.dtype[i];
    if (!byDtype.has(dtype)) byDtype.set(dtype, []);
    byDtype.get(dtype).push({ ratio, passed: runtime.verdicts[i] === "p" });
  }
  const rows = [...byDtype].map(([name, some]) => ({ name, note: `${many(some.length, "case")}, required: ${runtime.required[name]}`, cases: some }));
  const range = chosen.from === null && chosen.to === null ? null : { dtype: chosen.dtype, from: chosen.from ?? 0, to: chosen.to ?? Infinity };
  drawErrors(el("errors-chart"), rows, range, (dtype, from, to) => {
    const same = range && range.dtype === dtype && range.from === from && range.to === to;
    choose(same ? { dtype: "", from: null, to: null } : { dtype, from, to });
  }, el("errors-told"));
  const lines = Object.entries(runtime.growth).map(([name, growth]) => {
    const drawn = ["passed", "failed"].flatMap((kind) => [["middle", true], ["worst", false]].map(([which, middle]) => ({ kind, middle, values: trimmed(growth[kind][which]) })));
    const [passed, failed] = ["passed", "failed"].map((kind) => growth[kind].cases[0] || 0);
    return { name, note: `${passed.toLocaleString("en")} passed, ${failed.toLocaleString("en")} failed`, lines: drawn.filter((line) => line.values.length) };
  }).filter((row) => row.lines.length && (!chosen.dtype || row.name === chosen.dtype));
  el("growth").hidden = !Object.keys(runtime.growth).length;
  drawSteps(el("growth-chart"), lines);
}

function prepareCharts() {
  const caption = (title, text, ...more) => make("figcaption", {}, make("h3", {}, title), make("p", {}, text), ...more);
  el("heat").append(caption("Where it passes", "The share passed, in percent, of the cases that ask for both values of a pair; on the diagonal, for one. What differs most stands first. Unsupported cases do not count. A click filters the list.",
    make("p", { "aria-hidden": "true" }, "none", make("span", { class: "scale" }), "all passed ", make("button", { type: "button", id: "heat-more", class: "chip", onclick: () => choose({ all: !chosen.all }) }))),
  make("div", { class: "wide", id: "heat-map" }), make("p", { class: "told", id: "heat-told", "aria-live": "polite" }));
  const square = (kind, text) => make("span", { class: `${kind} square` }, text);
  el("errors").append(caption("How far off", "Each case by its worst element, |observed − expected| / tolerance, on a log scale; heights are square roots of counts. A click filters the list.", make("p", { class: "key" }, square("passed", "passed"), square("failed", "failed"))),
    make("div", { id: "errors-chart" }), make("p", { class: "told", id: "errors-told", "aria-live": "polite" }));
  el("growth").append(caption("Error over the steps", "The error of the states after each step, of all cases whose outputs hold them. These are of the whole report, whatever is filtered.",
    make("p", { class: "key" }, make("span", { class: "passed" }, "worst that passed"), make("span", { class: "passed dashed" }, "middle one that passed"), make("span", { class: "failed" }, "worst that failed"), make("span", { class: "failed dashed" }, "middle one that failed"))),
  make("div", { id: "growth-chart" }));
}

// ---- the page as a whole ----

function update() {
  const out = leftOut(), indices = [];
  for (let i = 0; i < cases.length; i++) if (!out[i]) indices.push(i);
  seen = inOrder(indices);
  drawFilters(seen.length);
  drawCharts(out);
  list.show();
  showCase();
  hintAtMore();
}

/** Let what can be scrolled to the right fade there. */
function hintAtMore() {
  for (const one of document.querySelectorAll(".wide, pre, .grid")) one.classList.toggle("goes-on", one.scrollLeft + one.clientWidth < one.scrollWidth - 1);
}

async function start() {
  page = await unpack("data");
  cases = new Cases(page.cases);
  document.documentElement.classList.add("scripted");
  el("explore").hidden = false;
  el("list").hidden = false;
  el("static").hidden = true;
  prepareFilters();
  prepareCharts();
  list.prepare();
  chosen = readAddress();
  update();
  addEventListener("hashchange", () => { chosen = readAddress(); update(); });
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); el("cases").focus(); });
  for (const link of document.querySelectorAll("main .runtime a[href^='#']")) link.addEventListener("click", () => el("explore").scrollIntoView());
  addEventListener("beforeprint", () => document.querySelectorAll(".runtime > details:not(.text)").forEach((one) => { one.open = true; }));
  document.addEventListener("click", (event) => {
    const link = framed && event.target.closest("main a[href^='#'], header a[href^='#']");
    if (link) { event.preventDefault(); chosen = readAddress(link.hash); update(); }
  });
  for (const event of ["scroll", "toggle"]) document.addEventListener(event, hintAtMore, true);
  for (const button of document.querySelectorAll(".diagnosis code, footer code")) button.after(" ", copying(button.textContent, "it"));
  let drawn = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== drawn) { drawn = innerWidth; update(); } });
  document.documentElement.classList.add("ready");
  performance.mark("ready");
}

start();
