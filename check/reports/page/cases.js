"use strict";
// The list of cases, of which only the rows in sight are in the page, and the case that is opened.

const MOST_PRINTED = 300, FIRST_ELEMENTS = 64;

/** An id in parts, of which the last says most. What does not fit goes on in the next line. */
function idNode(i) {
  return make("code", {}, make("span", {}, cases.id[i].slice(0, -cases.tail(i).length)), make("b", {}, cases.tail(i)));
}

/** The columns of a text in letters of one width; those of other scripts may take two. */
const columnsOf = (text) => (/^[ -~]*$/.test(text) ? text.length : 2 * text.length);

/** A button that copies a text. Where the browser lends no clipboard, the text is copied from the page itself. */
function copying(text, what) {
  const copy = async ({ target }) => {
    try { await navigator.clipboard.writeText(text); } catch {
      const lent = make("textarea", { class: "unseen" }, text);
      target.after(lent);
      lent.select();
      document.execCommand("copy");
      lent.remove();
      target.focus();
    }
    target.textContent = "copied";
    setTimeout(() => { target.textContent = "copy"; }, 1500);
  };
  return make("button", { type: "button", class: "chip copy", "aria-label": `Copy ${what}`, onclick: copy }, "copy");
}

function mark(word) {
  return make("span", { class: `mark ${word}` }, make("i"), word);
}

function wordsOf(runtime, i) {
  const why = runtime.explained[i];
  return why >= 0 ? runtime.explanations[why] : runtime.message[i];
}

const LINE = 20, ROUND = 18, MOST_BESIDE = 4;

/** The list. Rows differ in height, for an id is never cut: `tops` has where each begins, and the last ends. */
const list = {
  active: 0, printing: false, tops: [0],

  prepare() {
    const several = page.runtimes.length > 1;
    const columns = several
      ? `minmax(12rem, 1fr) ${page.runtimes.map(() => "8.5rem").join(" ")}`
      : "7.5rem minmax(14rem, 1.2fr) 5.2rem 8rem minmax(10rem, 1fr)";
    const header = (text, key, kind) => {
      const sort = key && chosen.sort.replace("-", "") === key ? chosen.sort.startsWith("-") ? "descending" : "ascending" : null;
      return make("div", { role: "columnheader", class: kind, "aria-sort": sort }, key ? make("button", { type: "button", onclick: () => this.sort(key) }, text) : text);
    };
    this.header = () => several
      ? [header("case", "id", "id"), ...page.runtimes.map((one) => header(one.name, null, ""))]
      : [header("verdict", "verdict", ""), header("case", "id", "id"), header("× tolerance", "ratio", "n"), header("worst element", null, "where"), header("what explains it, or what was said", null, "what")];
    this.head = make("div", { class: "row head", role: "row", "aria-rowindex": 1 });
    this.space = make("div", { class: "space", role: "presentation" });
    this.scroller = make("div", { class: "scroller", tabindex: 0, role: "rowgroup", "aria-label": "Cases: arrow keys go through them, Enter opens one", onscroll: () => this.draw(), onkeydown: (event) => this.key(event), onfocus: () => this.point(true), onblur: () => this.point(false) }, this.space);
    this.grid = make("div", { class: `grid ${several ? "several" : ""}`, role: "grid", "aria-labelledby": "cases-title" }, this.head, this.scroller);
    this.columns = columns;
    el("list").replaceChildren(this.grid);
    addEventListener("beforeprint", () => { this.printing = true; this.draw(); });
    addEventListener("afterprint", () => { this.printing = false; this.draw(); });
  },

  sort(key) {
    const now = chosen.sort;
    const first = key === "ratio" ? "-ratio" : key;
    choose({ sort: key === "verdict" ? "" : now === first ? (first.startsWith("-") ? key : `-${key}`) : first });
  },

  show() {
    const several = page.runtimes.length, stacked = innerWidth <= 820 || several > MOST_BESIDE; // the id above the rest
    this.grid.classList.toggle("stacked", stacked);
    this.grid.style.setProperty("--columns", !stacked ? this.columns : several > 1 ? `repeat(${several}, minmax(7.5rem, 1fr))` : "6.6rem minmax(0, 1fr) 5rem");
    this.grid.style.setProperty("--least", `${several > 1 ? 8.4 * several : 0}rem`);
    this.head.replaceChildren(...this.header());
    this.grid.setAttribute("aria-rowcount", seen.length + 1);
    this.place(stacked);
    const all = this.tops.at(-1);
    this.space.style.height = `${all}px`;
    this.scroller.style.height = all < 640 ? `${Math.max(90, all)}px` : "";
    this.active = Math.min(this.active, Math.max(0, seen.length - 1));
    this.draw();
  },

  /** Work out where each row stands, from the letters that a line of an id has room for. */
  place(stacked) {
    const letters = make("code", {}, "x".repeat(100)), cell = make("div", { class: "id" }, letters), runtime = page.runtimes[chosen.runtime];
    this.space.replaceChildren(make("div", { class: "row" }, ...(stacked || page.runtimes.length > 1 ? [cell] : [make("div"), cell])));
    const room = Math.floor((cell.clientWidth - 1) / (letters.getBoundingClientRect().width / 100));
    this.tops = [0];
    for (const i of seen) {
      const tail = columnsOf(cases.tail(i)), before = columnsOf(cases.id[i]) - tail;
      const lines = before + tail <= room ? 1 : Math.ceil(before / room) + Math.ceil(tail / room);
      const below = !stacked ? 0 : page.runtimes.length === 1 && wordsOf(runtime, i) ? 2 : 1;
      this.tops.push(this.tops.at(-1) + (lines + below) * LINE + ROUND);
    }
  },

  /** The row at a height, and the last where there is none. */
  at(height) {
    let [low, high] = [0, seen.length - 1];
    while (low < high) { const middle = (low + high) >> 1; if (this.tops[middle + 1] <= height) low = middle + 1; else high = middle; }
    return low;
  },

  draw() {
    if (!seen.length) { this.space.replaceChildren(make("p", { class: "empty" }, "No case is left by these filters.")); return; }
    const top = this.scroller.scrollTop;
    const first = this.printing ? 0 : Math.max(0, this.at(top) - 8);
    const last = Math.min(seen.length, this.printing ? MOST_PRINTED : this.at(top + this.scroller.clientHeight) + 9);
    this.space.replaceChildren(...Array.from({ length: last - first }, (_, n) => this.row(first + n)));
    this.point(document.activeElement === this.scroller);
  },

  /** Mark the row that keys are at, where the list has the focus. The rows stay the same: one may be clicked on. */
  point(focused) {
    for (const was of this.space.querySelectorAll(".active")) { was.classList.remove("active"); was.removeAttribute("aria-selected"); }
    const row = focused ? el(`row-${this.active}`) : null;
    if (!row) { this.scroller.removeAttribute("aria-activedescendant"); return; }
    row.classList.add("active");
    row.setAttribute("aria-selected", "true");
    this.scroller.setAttribute("aria-activedescendant", row.id);
  },

  row(place) {
    const i = seen[place], runtime = page.runtimes[chosen.runtime];
    const cell = (kind, ...what) => make("div", { role: "gridcell", class: kind }, ...what);
    const id = cell("id", idNode(i));
    const words = wordsOf(runtime, i);
    const cells = page.runtimes.length > 1
      ? [id, ...page.runtimes.map((one) => cell("", mark(VERDICTS[one.verdicts[i]]), " ", ["p", "f"].includes(one.verdicts[i]) ? make("span", { class: "more" }, ratioText(one.ratio[i])) : ""))]
      : [cell("", mark(VERDICTS[runtime.verdicts[i]])), id, cell("n", ratioText(runtime.ratio[i])), cell("where more", runtime.where[i]), cell("what more", words)];
    const drawn = make("div", { class: "row", role: "row", id: `row-${place}`, "aria-rowindex": place + 2, onclick: () => { this.active = place; choose({ case: cases.id[i] }, true); } }, ...cells);
    if (words) cells.at(-1).title = words;
    const height = this.tops[place + 1] - this.tops[place];
    if (!this.printing) [drawn.style.top, drawn.style.height] = [`${this.tops[place]}px`, `${height}px`];
    if (!this.grid.classList.contains("stacked")) drawn.style.setProperty("--lines", (height - ROUND) / LINE);
    return drawn;
  },

  key(event) {
    const page_ = Math.max(1, this.at(this.scroller.scrollTop + this.scroller.clientHeight) - this.at(this.scroller.scrollTop) - 1);
    const move = { ArrowDown: 1, ArrowUp: -1, PageDown: page_, PageUp: -page_, Home: -seen.length, End: seen.length }[event.key];
    if (event.key === "Enter" && seen.length) { event.preventDefault(); choose({ case: cases.id[seen[this.active]] }, true); return; }
    if (move === undefined) return;
    event.preventDefault();
    this.active = Math.max(0, Math.min(seen.length - 1, this.active + move));
    const top = this.tops[this.active], bottom = this.tops[this.active + 1] - this.scroller.clientHeight;
    if (this.scroller.scrollTop > top) this.scroller.scrollTop = top;
    if (this.scroller.scrollTop < bottom) this.scroller.scrollTop = bottom;
    this.draw();
  },
};

// ---- one case ----

const unpacked = new Map();

/** What is kept of a failing case, or null: that of a case is read when it is opened. */
async function detail(runtime, i) {
  const name = `case-${runtime.number}-${i}`;
  if (!el(name)) return null;
  if (!unpacked.has(name)) unpacked.set(name, unpack(name));
  return unpacked.get(name);
}

/** A word of a command line, as a shell takes it. */
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\"'\"'")}'`);

/** Show the case that the address names, or none. */
async function showCase() {
  const dialog = el("case"), i = chosen.case ? cases.id.indexOf(chosen.case) : -1;
  if (i < 0) { if (dialog.open) dialog.close(); return; }
  const runtime = page.runtimes[chosen.runtime];
  const told = await detail(runtime, i);
  if (chosen.case !== cases.id[i]) return; // another was opened meanwhile
  const at = dialog.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
  dialog.replaceChildren(top_(i), body(runtime, i, told));
  if (dialog.open) ([...dialog.querySelectorAll(".top button:enabled")].find((one) => one.getAttribute("aria-label") === at) || el("case-title")).focus();
  dialog.onclose = () => { if (chosen.case) { choose({ case: "" }); list.scroller.focus({ preventScroll: true }); } };
  dialog.onclick = (event) => { if (event.target === dialog) dialog.close(); };
  dialog.onkeydown = (event) => { const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]; if (step && !event.target.closest("pre, .wide")) go(i, step); };
  if (!dialog.open) { if (dialog.showModal) dialog.showModal(); else dialog.setAttribute("open", ""); }
  dialog.scrollTop = 0;
  hintAtMore();
  if (told && told.steps) drawSteps(el("case-steps"), [{ name: "", note: "", lines: [{ kind: runtime.verdicts[i] === "p" ? "passed" : "failed", middle: false, values: told.steps.map((v) => (typeof v === "number" ? v : Infinity)) }] }]);
}

function go(i, step) {
  const place = seen.indexOf(i) + step;
  if (place < 0 || place >= seen.length) return;
  list.active = place;
  choose({ case: cases.id[seen[place]] });
}

function top_(i) {
  const place = seen.indexOf(i);
  const button = (text, label, enabled, onclick) => make("button", { type: "button", class: "chip", "aria-label": label, disabled: !enabled, onclick }, text);
  return make("div", { class: "top" }, make("h2", { id: "case-title", tabindex: -1, autofocus: true }, cases.id[i]), make("div", { class: "group" }, copying(cases.id[i], "the id"),
    button("←", "Previous case", place > 0, () => go(i, -1)), button("→", "Next case", place >= 0 && place < seen.length - 1, () => go(i, 1)),
    button("close", "Close this case", true, () => el("case").close())));
}

function body(runtime, i, told) {
  const parts = [lead(runtime, i)];
  if (page.runtimes.length > 1) parts.push(beside(i));
  if (told) {
    parts.push(section("What it asks", make("pre", { tabindex: 0 }, told.asked.join("\n").trimEnd()),
      make("details", { class: "text" }, make("summary", {}, "Its inputs"), make("pre", { tabindex: 0 }, told.inputs.join("\n")))));
    if (told.steps) parts.push(section("Error over the steps", make("div", { id: "case-steps" })));
    if (told.trace.length) parts.push(more("Where it leaves the exact states", told.trace));
    for (const output of told.outputs) parts.push(elements(output));
    if (told.readings) parts.push(make("p", { class: "note" }, `The text is ambiguous here: ${many(told.readings, "other reading is", "other readings are")} accepted too. What is expected is the stored one.`));
  } else {
    parts.push(section("What it asks", asked(i)));
    if (runtime.verdicts[i] === "f") parts.push(make("p", { class: "note" }, "The values of this case are not in this page: it holds those of the plainest failures that were kept for the diagnosis. A report of this case alone has them: check with --select and its id."));
  }
  parts.push(section("Go on from here", ...commands(runtime, i).map((line) => make("div", { class: "command" }, make("pre", { tabindex: 0 }, line), copying(line, "this command")))));
  return make("div", { class: "body" }, ...parts);
}

/** What tells more of a case. A runtime is named as the user did: what it calls itself may be any command. */
function commands(runtime, i) {
  const operands = [...(runtime.vectors ? [runtime.vectors] : []), cases.id[i]], dashed = operands.some((word) => word.startsWith("-"));
  const line = (name, ...options) => ["grucible", name, ...(dashed ? [...options, "--", ...operands] : [...operands, ...options])].map(quoted).join(" ");
  const script = runtime.script ? [line("show", "--script", runtime.asked)] : [];
  if (!runtime.traces[i]) return [line("show"), ...script];
  if (runtime.asked) return [line("show"), line("trace", "--runtime", runtime.asked), line("shrink", "--runtime", runtime.asked), ...script];
  return runtime.outputs ? [line("show"), line("trace", "--against", runtime.outputs)] : [line("show")];
}

/** A section of lines: long ones are folded away. */
function more(title, all) {
  const lines = make("pre", { tabindex: 0 }, all.join("\n"));
  if (all.length <= 80) return section(title, lines);
  return section(title, make("details", { class: "text" }, make("summary", {}, `${all.length} lines`), lines));
}

function section(title, ...what) {
  return make("section", {}, make("h3", {}, title), ...what);
}

function lead(runtime, i) {
  const word = VERDICTS[runtime.verdicts[i]], message = runtime.message[i], ratio = runtime.ratio[i];
  const where = runtime.where[i];
  const off = ratio !== null ? `${where ? `${where}: ` : ""}${message ? `${message}; ` : ""}${ratioText(ratio)} × tolerance` : message;
  const made = make("section", {}, make("p", { class: "lead" }, mark(word), off ? ` ${off}` : ""));
  if (runtime.explained[i] >= 0) made.append(make("p", {}, `Explained by: ${runtime.explanations[runtime.explained[i]]}`));
  else if (word === "failed") made.append(make("p", {}, "Nothing explains it yet."));
  if (runtime.expected[i] !== null) made.append(make("p", { class: "note" }, `Expected: ${runtime.expected[i]}`));
  if (!cases.decides(i)) made.append(make("p", { class: "note" }, "It does not decide: its tier is nonportable."));
  return made;
}

/** What each runtime made of a case. */
function beside(i) {
  const rows = page.runtimes.map((one, n) => make("tr", {}, make("th", { scope: "row" }, n === chosen.runtime ? one.name : make("a", { href: address({ ...chosen, runtime: n }) }, one.name)), make("td", {}, mark(VERDICTS[one.verdicts[i]])), make("td", { class: "n" }, ratioText(one.ratio[i])), make("td", {}, wordsOf(one, i))));
  return section("Every runtime", make("div", { class: "wide" }, make("table", {}, make("thead", {}, make("tr", {}, ...["runtime", "verdict", "× tolerance", ""].map((word) => make("th", { scope: "col", class: word.startsWith("×") ? "n" : null }, word)))), make("tbody", {}, ...rows))));
}

/** What a case asks, as far as the list knows it. */
function asked(i) {
  const traits = { operator: cases.operator[i], dtype: cases.dtype[i], tier: cases.tier[i], ...cases.traits[i] };
  return make("table", {}, make("tbody", {}, ...Object.entries(traits).map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value)))));
}

/** Every element of an output: as squares, and as a table of which the first rows are drawn at once. */
function elements(output) {
  const split = (text) => text.split(" "), number = (text) => (text === "inf" ? Infinity : text === "-inf" ? -Infinity : Number(text));
  const expected = split(output.expected), observed = split(output.observed), admitted = split(output.admitted).map(number), ratios = split(output.ratio).map(number);
  const wrong = ratios.filter((ratio) => ratio > 1).length, whole = !output.at;
  const where = (place) => {
    let rest = whole ? place : output.at[place];
    return [...output.shape].reverse().map((size) => { const at = rest % size; rest = Math.floor(rest / size); return at; }).reverse().join(", ");
  };
  const off = (n) => { const apart = Math.abs(number(observed[n]) - number(expected[n])); return admitted[n] > 0 && ratios[n] !== Infinity ? ratios[n] * admitted[n] : apart; };
  const row = (n) => make("tr", { class: ratios[n] > 1 ? "wrong" : "right" }, make("th", { scope: "row" }, `${output.name}[${where(n)}]`), ...[expected[n], observed[n], ratioText(off(n)), ratioText(admitted[n]), ratioText(ratios[n])].map((text) => make("td", { class: "n" }, text)));
  const order = ratios.map((_, n) => n), rows = make("tbody");
  const draw = (most, only) => rows.replaceChildren(...order.filter((n) => !only || ratios[n] > 1).slice(0, most).map(row));
  let only = wrong > 0 && ratios.length > FIRST_ELEMENTS, most = FIRST_ELEMENTS;
  const buttons = make("div", { class: "group" });
  const redraw = () => {
    draw(most, only);
    const left = (only ? wrong : ratios.length) - most;
    buttons.replaceChildren(...[
      wrong && wrong < ratios.length ? make("button", { type: "button", class: "chip", "aria-pressed": only ? "true" : "false", onclick: () => { only = !only; redraw(); } }, "the wrong elements only") : null,
      left > 0 ? make("button", { type: "button", class: "chip", onclick: () => { most = Infinity; redraw(); } }, `${many(left, `more ${only ? "wrong " : ""}element`)}`) : null,
    ].filter(Boolean));
  };
  redraw();
  const count = output.shape.reduce((a, b) => a * b, 1);
  const some = whole ? "" : `; here are the ${ratios.length.toLocaleString("en")} that are furthest off`;
  const head = ["element", "expected", "got", "off by", "tolerance", "× tolerance"].map((word, n) => make("th", { scope: "col", class: n ? "n" : null }, word));
  return section(`${output.name}: ${wrong.toLocaleString("en")} of ${many(count, "element")} wrong${some}`, make("p", { class: "note" }, output.shape.map((size, n) => `${output.axes[n]}${output.axes[n] === String(size) ? "" : ` ${size}`}`).join(" × "), whole ? `; of the squares a line is a state, with its ${output.axes.at(-1)} from left to right` : null), whole ? squares(output.name, output.shape, ratios) : null,
    buttons, make("div", { class: "wide" }, make("table", { class: "elements" }, make("thead", {}, make("tr", {}, ...head)), rows)));
}
