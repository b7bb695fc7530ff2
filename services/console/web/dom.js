// Builds the page. Foreign texts are inserted only as text nodes; these files never use innerHTML.

/** h("a", {href: "/", class: "x"}, "text", child, [children]): null, false and "" are left out. */
export const h = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);

/** The same for a part of a picture. */
export const svg = (name, attributes = {}, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element[key] = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== ""));
  return element;
}

/**
 * Changes `element` to the contents of `wanted` and keeps equal nodes. So focus, selection, open details and scroll
 * position survive an update.
 */
export function morph(element, wanted) {
  const mine = [...element.childNodes], theirs = [...wanted.childNodes];
  theirs.forEach((their, index) => {
    const my = mine[index];
    if (my === undefined) element.append(their);
    else if (my.nodeName !== their.nodeName || (my.dataset?.key ?? "") !== (their.dataset?.key ?? "")) my.replaceWith(their);
    else if (my.nodeType === Node.TEXT_NODE) { if (my.data !== their.data) my.data = their.data; }
    else { attributesMorph(my, their); morph(my, their); }
  });
  mine.slice(theirs.length).forEach((node) => node.remove());
}

function attributesMorph(my, their) {
  for (const name of my.getAttributeNames()) {
    if (!their.hasAttribute(name) && !(name === "open" && my.nodeName === "DETAILS") && name !== "style") my.removeAttribute(name);
  }
  for (const name of their.getAttributeNames()) {
    if (name !== "style" && my.getAttribute(name) !== their.getAttribute(name)) my.setAttribute(name, their.getAttribute(name));
  }
  for (const name of ["--from", "--size"]) my.style?.setProperty(name, their.style.getPropertyValue(name));
  for (const name of ["onclick", "onsubmit", "onchange"]) my[name] = their[name];
}

const numbers = new Intl.NumberFormat();
export const number = (value) => numbers.format(Number(value));
export const plural = (count, one, many) => `${number(count)} ${Number(count) === 1 ? one : many}`;

/** A rounded duration: "3 s", "12 min", "5 h", "2 d". */
export function duration(ms) {
  const s = Math.max(0, Math.round(Number(ms) / 1000));
  if (Number(ms) < 1000) return `${Math.max(0, Math.round(Number(ms)))} ms`;
  if (s < 120) return `${s} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  if (s < 172800) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} d`;
}

// The database's clock, by its last answer: the browser's clock may be wrong.
let clockAhead = 0;
export const clockTell = (nowMs) => { clockAhead = Number(nowMs) - Date.now(); };
export const now = () => Date.now() + clockAhead;

/** A moment in the browser's time zone; the exact UTC time as a tooltip. */
export function when(iso, {relative = false, ms = false} = {}) {
  if (!iso) return "";
  const date = new Date(iso);
  const isToday = date.toDateString() === new Date().toDateString();
  const time = date.toLocaleTimeString([], {hour: "2-digit", minute: "2-digit", second: "2-digit", ...(ms ? {fractionalSecondDigits: 3} : {})});
  const text = relative ? ago(date) : isToday ? time : `${date.toLocaleDateString([], {year: "numeric", month: "short", day: "numeric"})} ${time}`;
  return h("time", {datetime: iso, title: iso}, text);
}

function ago(date) {
  const ms = now() - date.getTime();
  const text = duration(Math.max(Math.abs(ms), 1000)); // a page is seldom newer than a second
  return ms >= 0 ? `${text} ago` : `in ${text}`;
}

const MOMENT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)/;

/** A text with each moment in it as a time of day and its distance, which tick() renews. */
export const moments = (text) => text.split(MOMENT).map((part, index) => (index % 2 === 0 ? part : [when(part), " (", h("span", {"data-at": part}, ago(new Date(part))), ")"]));

/** Renews the distances of all moments in `element`. */
export function tick(element) {
  for (const span of element.querySelectorAll("[data-at]")) span.textContent = ago(new Date(span.dataset.at));
}

const KINDS = {
  good: ["processed", "done", "serving", "closed"],
  busy: ["processing", "running", "undo_running", "compensating", "asked", "canary"],
  wait: ["pending", "waiting", "undo_pending", "undo_waiting", "paused", "half_open", "not ready", "unknown"],
  bad: ["error", "failed", "undo_failed", "no agent", "no queue", "not consuming", "breaker open", "open", "stopped"],
};
export const kindOf = (word) => Object.keys(KINDS).find((kind) => KINDS[kind].includes(word)) ?? "over";
export const badge = (word, kind = kindOf(word)) => h("span", {class: `badge is-${kind}`}, word.replaceAll("_", " "));

export const bulkLink = (id) => h("a", {class: "id", href: `/bulk/${encodeURIComponent(id)}`}, id);
export const orderLink = (id) => h("a", {class: "id", href: `/orders/${encodeURIComponent(id)}`}, id);

/** columns: [{name, cell(row), number?, wide?, brief?}]; the first one is the row's heading. On a phone a row is a card, with brief cells in one line. */
export function table(caption, columns, rows, {empty = "None.", key = (_row, index) => index, id = () => null} = {}) {
  if (rows.length === 0) return h("p", {class: "soft"}, empty);
  const kind = (column) => (column.number ? "number" : column.wide ? "wide" : column.brief ? "brief" : null);
  return h("table", {},
    h("caption", {class: "unseen"}, caption),
    h("thead", {}, h("tr", {}, columns.map((column) => h("th", {scope: "col", class: kind(column)}, column.name)))),
    h("tbody", {}, rows.map((row, index) => h("tr", {"data-key": key(row, index), id: id(row)},
      columns.map((column, at) => at === 0
        ? h("th", {scope: "row", class: kind(column)}, column.cell(row))
        : h("td", {"data-name": column.name, class: kind(column)}, column.cell(row)))))));
}

/** Raw bytes in a field that scrolls, also by keyboard. */
export const bytes = (name, text) => h("pre", {tabindex: 0, role: "group", "aria-label": name}, text);

/** A line of a list of facts; empty values give none. */
export const fact = (name, value) => value && [h("dt", {}, name), h("dd", {}, value)];

/** The form of a search; on a narrow screen it is folded until it has a filter. */
export function searchPanel(form, isUsed) {
  const isFolded = !isUsed && matchMedia("(max-width: 46rem)").matches;
  return h("section", {class: "panel", "aria-label": "Search"}, isFolded ? h("details", {}, h("summary", {}, "Search"), form) : form);
}

export const panel = (title, ...children) => h("section", {class: "panel"}, h("h2", {}, title), ...children);

/** Announces a text to screen readers. */
export function say(text) {
  const said = document.getElementById("said");
  if (said.textContent !== text) said.textContent = text;
}
