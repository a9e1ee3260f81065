"use strict";
// The charts of the page. Each is drawn anew from what it is given; none keeps anything. Every text goes into the
// page as text, never as markup.

/** A new element. Attributes with a value of null or false are left out; children are nodes or texts. */
function make(name, attributes = {}, ...children) {
  const svg = ["svg", "g", "rect", "line", "path", "text", "circle", "title"].includes(name);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false && value !== undefined) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const many = (n, one, several = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : several}`;
const percent = (share) => `${share > 0 && share < 0.01 ? "<1" : share < 1 && share > 0.99 ? ">99" : Math.round(100 * share)} %`;

/** A ratio to the tolerance for people: -1 is infinite. */
function ratioText(ratio) {
  if (ratio === null || ratio === undefined) return "";
  if (ratio < 0 || ratio === Infinity) return "∞";
  if (ratio === 0) return "0";
  return ratio >= 1e5 || ratio < 1e-3 ? ratio.toExponential(1).replace("e+", "e").replace(".0e", "e") : String(Number(ratio.toPrecision(3)));
}

/** Let the arrow keys go through `items` of `host`: one of them is in the order of Tab. */
function roving(host, items, across) {
  items.forEach((item, place) => item.setAttribute("tabindex", place ? -1 : 0));
  host.addEventListener("keydown", (event) => {
    const at = items.indexOf(document.activeElement);
    if (at < 0) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      items[at].dispatchEvent(new MouseEvent("click", { bubbles: true }));
      return;
    }
    const next = across(at, event.key);
    if (next === undefined || !items[next]) return;
    event.preventDefault();
    items[at].setAttribute("tabindex", -1);
    items[next].setAttribute("tabindex", 0);
    items[next].focus();
  });
}

/** The heat map of pairs of values. `groups` are what is asked, each {name, values}; `cell(a, b)` gives
    {passed, asked} for two numbers of values, counted through all groups; `chosen` are such numbers. */
function drawHeat(host, groups, cell, chosen, choose, told) {
  const values = groups.flatMap((group) => group.values.map((value, place) => ({ group, value, first: place === 0 })));
  const items = [], places = [];
  const describe = (a, b, { passed, asked }) => {
    const one = (v) => `${v.group.name} ${v.value}`;
    const pair = a === b ? one(values[a]) : `${one(values[a])} with ${one(values[b])}`;
    return `${pair}: ${asked ? `${passed.toLocaleString("en")} of ${many(asked, "case")} passed (${percent(passed / asked)})` : "no case that was answered"}`;
  };
  const body = make("tbody");
  values.forEach((row, a) => {
    const line = make("tr", { class: row.first ? "first" : null }, make("th", { scope: "row", class: "value", "aria-label": `${row.group.name} ${row.value}` }, row.first ? make("span", {}, row.group.name) : null, row.value));
    values.slice(0, a + 1).forEach((column, b) => {
      const found = cell(a, b);
      const starts = column.first ? "starts" : "";
      if (!found || (a !== b && row.group === column.group)) {
        line.append(make("td", { class: starts }));
        return;
      }
      const share = found.asked ? found.passed / found.asked : null;
      const kind = share === null ? "none" : share < 0.5 ? "low" : "high";
      const strong = share !== null && Math.abs(share - 0.5) > 0.38 ? "strong" : "";
      const text = share === null ? "" : String(share > 0.99 && share < 1 ? 99 : share < 0.01 && share > 0 ? 1 : Math.round(100 * share));
      const on = chosen.length > 0 && (chosen.length === 1 ? a === b && chosen[0] === a : chosen.includes(a) && chosen.includes(b) && a !== b);
      const said = describe(a, b, found);
      const drawn = make("td", {
        class: `cell ${kind} ${strong} ${starts}`, role: "gridcell", "aria-label": said, "aria-selected": on ? "true" : "false",
        onclick: () => choose(a === b ? [a] : [a, b]), onmouseenter: () => { told.textContent = said; },
        onfocus: () => { told.textContent = said; },
      }, text);
      if (share !== null) drawn.style.setProperty("--share", share.toFixed(3));
      items.push(drawn);
      places.push([a, b]);
      line.append(drawn);
    });
    body.append(line);
  });
  const foot = make("tr", {}, make("td"));
  values.forEach((column) => foot.append(make("th", { scope: "col", class: column.first ? "starts" : null, "aria-label": `${column.group.name} ${column.value}` }, make("div", {}, column.value, column.first ? make("span", {}, column.group.name) : null))));
  const table = make("table", { class: "heat", role: "grid", "aria-label": "Share passed of cases by pairs of what is asked" }, body, make("tfoot", {}, foot));
  roving(table, items, (at, key) => {
    const [a, b] = places[at];
    const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[key] || [0, 0];
    for (let step = 1; (down || right) && step < values.length; step++) {
      const next = places.findIndex((place) => place[0] === a + down * step && place[1] === b + right * step);
      if (next >= 0) return next;
    }
    return undefined;
  });
  host.replaceChildren(table);
}

/** A power of ten as a mark of an axis. */
const decadeText = (decade) => (decade >= 0 && decade < 3 ? String(10 ** decade) : `1e${decade}`);

/** The distribution of the error over cases, a row for each dtype: on a log scale, with the limit. `rows` are
    {name, note, cases: [{ratio, passed}]}; `choose([from, to])` filters by the ratio. */
function drawErrors(host, rows, chosen, choose, told) {
  const finite = rows.flatMap((row) => row.cases.map((one) => one.ratio)).filter((r) => r > 0 && r !== Infinity);
  const high = Math.max(1, Math.floor(Math.log10(finite.reduce((a, b) => Math.max(a, b), 1)) + 1e-9) + 1);
  const low = -3, finest = high - low <= 24 ? 3 : 1, bins = (high - low) * finest + 2; // the first: less, and 0; the last: infinite alone
  const width = Math.max(280, host.clientWidth), left = 4, each = (width - left - 4) / bins, tall = rows.length > 1 ? 56 : 120, rowHeight = tall + 46;
  const place = (ratio) => ratio < 0 || ratio === Infinity ? bins - 1 : ratio <= 10 ** low ? 0 : 1 + Math.floor((Math.log10(ratio) - low) * finest + 1e-9);
  const x = (bin) => left + bin * each;
  const limit = x(1 - low * finest);
  const svg = make("svg", { viewBox: `0 0 ${width} ${rows.length * rowHeight + 16}`, role: "group", "aria-label": "How far off the cases are, by dtype" });
  const range = (bin) => bin === bins - 1 ? [Infinity, Infinity] : [bin === 0 ? 0 : 10 ** (low + (bin - 1) / finest), 10 ** (low + bin / finest)];
  const said = (bin) => bin === 0 ? `at most ${ratioText(10 ** low)} × tolerance` : bin === bins - 1 ? "infinitely far off" : `${ratioText(range(bin)[0])} to ${ratioText(range(bin)[1])} × tolerance`;
  const items = [];
  rows.forEach((row, number) => {
    const base = number * rowHeight + tall + 24;
    svg.append(make("text", { class: "name", x: left, y: base - tall - 9 }, row.name), make("text", { x: left + 8.2 * row.name.length + 12, y: base - tall - 9 }, row.note));
    const counts = Array.from({ length: bins }, () => [0, 0]);
    for (const one of row.cases) counts[place(one.ratio)][one.passed ? 0 : 1]++;
    const most = Math.max(1, ...counts.map(([p, f]) => p + f));
    const height = (n) => n ? Math.max(3, tall * Math.sqrt(n / most)) : 0;
    counts.forEach(([passed, failed], bin) => {
      const all = passed + failed;
      if (!all) return;
      const whole = height(all), lower = passed ? failed ? Math.min(whole - 2, Math.max(2, whole * passed / all)) : whole : 0;
      const label = `${row.name}, ${said(bin)}: ${passed.toLocaleString("en")} passed, ${failed.toLocaleString("en")} failed`;
      const [from, to] = range(bin);
      const on = chosen && chosen.dtype === row.name && chosen.from === from && chosen.to === to;
      const drawn = make("g", { class: "bin", role: "button", "aria-label": label, "aria-pressed": on ? "true" : "false", onclick: () => choose(row.name, from, to), onmouseenter: () => { told.textContent = label; }, onfocus: () => { told.textContent = label; } },
        make("rect", { class: "hit", x: x(bin), y: base - tall, width: each, height: tall }),
        lower ? make("rect", { class: "fill-passed", x: x(bin) + 1, y: base - lower, width: Math.max(1, each - 2), height: lower }) : null,
        failed ? make("rect", { class: "fill-failed", x: x(bin) + 1, y: base - whole, width: Math.max(1, each - 2), height: whole - lower }) : null,
        make("title", {}, label));
      items.push(drawn);
      svg.append(drawn);
    });
    svg.append(make("line", { class: "rule", x1: left, x2: width - 4, y1: base, y2: base }), make("line", { class: "limit", x1: limit, x2: limit, y1: base - tall - 4, y2: base + 5 }));
    const step = [1, 2, 4, 10, 20, 50].find((some) => some * each * finest >= 36) || 100;
    for (let decade = low; decade <= high; decade += 1) {
      if (decade && (decade % step || (decade === high && counts[bins - 1].some(Boolean)) || (decade === low && counts[0].some(Boolean)))) continue;
      svg.append(make("text", { x: x(1 + (decade - low) * finest), y: base + 16, "text-anchor": "middle", class: decade ? null : "limit-word" }, decade ? decadeText(decade) : "limit"));
    }
    if (counts[0][0] + counts[0][1]) svg.append(make("text", { x: x(0), y: base + 16 }, "0"));
    if (counts[bins - 1][0] + counts[bins - 1][1]) svg.append(make("text", { x: x(bins), y: base + 16, "text-anchor": "end" }, "∞"));
  });
  roving(svg, items, (at, key) => ({ ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1 })[key]);
  host.replaceChildren(rows.length ? svg : make("p", { class: "empty" }, "No case that was compared."));
}

const MOST_EVEN = 32;

/** Lines over the steps of a sequence, on a log scale, with the limit. `rows` are {name, note, lines: [{kind,
    middle, values}]}, where values has a ratio for each step, null where there is none. More than MOST_EVEN steps
    stand on a log scale too. */
function drawSteps(host, rows) {
  const width = Math.max(260, host.clientWidth), left = 40, right = 8, tall = rows.length > 1 ? 56 : 120, rowHeight = tall + 46;
  const svg = make("svg", { viewBox: `0 0 ${width} ${rows.length * rowHeight + 4}`, role: "group", "aria-label": "Error by step" });
  const values = rows.flatMap((row) => row.lines.flatMap((line) => line.values)), endless = values.includes(Infinity);
  const known = values.filter((v) => v > 0 && v !== Infinity);
  const low = Math.max(-4, Math.min(-1, Math.floor(Math.log10(known.reduce((a, b) => Math.min(a, b), 1)))));
  const highest = Math.max(1, Math.ceil(Math.log10(known.reduce((a, b) => Math.max(a, b), 1))));
  const every = Math.ceil((highest - low) / (tall / 22 - (endless ? 1 : 0))), high = highest + (endless ? every : 0); // what is infinite stands above all
  rows.forEach((row, number) => {
    const top = number * rowHeight + 24, base = top + tall;
    const steps = Math.max(...row.lines.map((line) => line.values.length));
    const far = (step) => (steps > MOST_EVEN ? Math.log(step + 1) / Math.log(steps) : steps > 1 ? step / (steps - 1) : 0.5);
    const x = (step) => left + far(step) * (width - left - right);
    const y = (ratio) => base - tall * Math.min(1, Math.max(0, ((ratio === 0 ? low : ratio === Infinity ? high : Math.log10(ratio)) - low) / (high - low)));
    const said = row.lines.filter((line) => line.values.length).map((line) => `${line.middle ? "middle" : "worst"} of those that ${line.kind}: ${ratioText(line.values[0])} at step 1, ${ratioText(line.values.at(-1))} at step ${line.values.length}`).join("; ");
    const part = make("g", { role: "img", "aria-label": `${row.name}: ${said}` });
    part.append(make("text", { class: "name", x: 4, y: top - 9 }, row.name), make("text", { x: 4 + 8.2 * row.name.length + 12, y: top - 9 }, row.note));
    for (let decade = low; decade <= high; decade++) {
      const above = endless && decade === high;
      if (decade && !above && (decade > highest || decade % every || Math.abs(decade) * tall / (high - low) < 12)) continue;
      part.append(make("line", { class: decade ? "rule" : "limit", x1: left, x2: width - right, y1: y(10 ** decade), y2: y(10 ** decade) }),
        make("text", { class: decade ? null : "limit-word", x: left - 6, y: y(10 ** decade) + 4, "text-anchor": "end" }, above ? "∞" : decade ? decadeText(decade) : "limit"));
    }
    for (const line of row.lines) {
      let drawn = "", before = null;
      line.values.forEach((value, step) => {
        if (value === null) { before = null; return; }
        drawn += `${before === null ? "M" : "L"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`;
        before = step;
      });
      if (drawn) part.append(make("path", { class: `line-${line.kind} ${line.middle ? "middle" : ""}`, d: drawn }));
      if (!line.middle && line.values.length <= 24) line.values.forEach((value, step) => value === null || part.append(make("circle", { class: `dot-${line.kind}`, cx: x(step), cy: y(value), r: 2.6 })));
    }
    const marks = steps <= 12 ? Array.from({ length: steps }, (_, i) => i) : [0, ...(steps > MOST_EVEN ? [3, 15, 63, 255].filter((step) => step < steps / 2) : [Math.floor((steps - 1) / 2)]), steps - 1];
    for (const step of marks) part.append(make("text", { x: x(step), y: base + 16, "text-anchor": step === steps - 1 && steps > 1 ? "end" : "middle" }, step === 0 ? "step 1" : String(step + 1)));
    svg.append(part);
  });
  host.replaceChildren(rows.length ? svg : make("p", { class: "empty" }, "No case whose outputs hold the state of every step."));
}

/** The elements of an output as squares, a line of hidden units for each state, with its place: blue is within its
    tolerance, orange is not, and the stronger the further off. */
function squares(name, shape, ratios) {
  const across = shape.at(-1) || 1, down = ratios.length / across, side = Math.max(5, Math.min(18, Math.floor(900 / across), Math.floor(360 / down)));
  const wrong = ratios.filter((ratio) => ratio > 1).length, every = Math.ceil(12 / side);
  const place = (n) => shape.map((size, axis) => Math.floor(n / shape.slice(axis + 1).reduce((a, b) => a * b, 1)) % size);
  const labels = Array.from({ length: down }, (_, line) => `${name}[${[...place(line * across).slice(0, -1), ":"].join(", ")}]`);
  const left = Math.ceil(7.2 * Math.max(0, ...labels.map((label) => label.length))) + 8, width = left + across * side, height = down * side;
  const svg = make("svg", { class: "squares", role: "img", viewBox: `0 0 ${width} ${height}`, width, height, "aria-label": `${name}: ${wrong} of ${many(ratios.length, "element")} are off by more than the tolerance; the table has each` });
  labels.forEach((label, line) => { if (line % every === 0) svg.append(make("text", { x: left - 6, y: line * side + side / 2 + 4, "text-anchor": "end" }, label)); });
  ratios.forEach((ratio, n) => {
    const strength = ratio > 1 ? 0.45 + 0.55 * Math.min(1, Math.log10(Math.min(ratio, 1e6)) / 3) : 0.12 + 0.5 * ratio;
    svg.append(make("rect", { class: ratio > 1 ? "wrong" : "right", "fill-opacity": strength.toFixed(2), x: left + (n % across) * side, y: Math.floor(n / across) * side, width: side, height: side, rx: 2 }, make("title", {}, `${name}[${place(n).join(", ")}]: ${ratioText(ratio)} × tolerance`)));
  });
  return svg;
}

const MOST_VALUES = 8;

/** What is asked, the most telling first: where the share passed differs most from value to value. */
function telling(cases, base, verdicts) {
  const found = [];
  for (const name of cases.names()) {
    const { values, numbers } = cases.of(name), asked = new Float64Array(values.length), passed = new Float64Array(values.length);
    for (const i of base) {
      const n = numbers[i], letter = verdicts[i];
      if (n < 0 || letter === "u" || letter === "-") continue;
      asked[n]++;
      if (letter === "p") passed[n]++;
    }
    const there = values.map((_, n) => n).filter((n) => asked[n]);
    if (there.length < 2) continue;
    const all = asked.reduce((a, b) => a + b), mean = passed.reduce((a, b) => a + b) / all;
    const spread = there.reduce((sum, n) => sum + asked[n] * (passed[n] / asked[n] - mean) ** 2, 0) / all;
    const kept = there.sort((a, b) => asked[b] - asked[a]).slice(0, MOST_VALUES);
    kept.sort((a, b) => values[a].localeCompare(values[b], "en", { numeric: true }));
    found.push({ name, numbers, kept, values: kept.map((n) => values[n]), spread: spread * (there.length > MOST_VALUES ? 0.5 : 1) });
  }
  return found.sort((a, b) => b.spread - a.spread);
}

/** The errors of steps without those at the end that there are none of. */
function trimmed(values) {
  const end = values.findLastIndex((value) => value !== null) + 1;
  return values.slice(0, end).map((value) => (value === "inf" ? Infinity : value));
}
