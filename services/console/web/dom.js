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
let clockAhead = null;
export const clockTell = (nowMs) => { clockAhead = Math.max(clockAhead ?? -Infinity, Number(nowMs) - Date.now()); }; // an answer is late, and never early
export const now = () => Date.now() + (clockAhead ?? 0);

/** A moment in the browser's time zone, for a story; the exact UTC time as a tooltip. */
export function when(iso, {ms = false} = {}) {
  return iso ? h("time", {datetime: iso, title: iso}, clock(new Date(iso), ms)) : "";
}

/** The same as a distance, for a list: "3 min ago", "in 2 h". */
export const ago = (iso) => (iso ? h("time", {datetime: iso, title: `${clock(new Date(iso))} (${iso})`, "data-at": iso}, distance(iso)) : "");

/** The time from a moment until now: "3 min". */
export const age = (iso) => h("time", {datetime: iso, title: `${clock(new Date(iso))} (${iso})`, "data-since": iso}, span(iso));

function clock(date, ms = false) {
  const time = date.toLocaleTimeString([], {hour: "2-digit", minute: "2-digit", second: "2-digit", ...(ms ? {fractionalSecondDigits: 3} : {})});
  return date.toDateString() === new Date().toDateString() ? time : `${date.toLocaleDateString([], {year: "numeric", month: "short", day: "numeric"})} ${time}`;
}

export const span = (iso) => duration(Math.max(Math.abs(now() - Date.parse(iso)), 1000)); // a page is seldom newer than a second
export const distance = (iso) => (Date.parse(iso) <= now() ? `${span(iso)} ago` : `in ${span(iso)}`);

const MOMENT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)/;

/** A text with each moment in it as a time of day and its distance. */
export const moments = (text) => text.split(MOMENT).map((part, index) => (index % 2 === 0 ? part : [when(part), " (", h("span", {"data-at": part}, distance(part)), ")"]));

/** Renews all distances and ages of the page. */
export function tick() {
  for (const each of document.querySelectorAll("[data-at]")) each.textContent = distance(each.dataset.at);
  for (const each of document.querySelectorAll("[data-since]")) each.textContent = span(each.dataset.since);
}

const KINDS = {
  good: ["processed", "done", "serving", "closed"],
  busy: ["processing", "running", "undo_running", "compensating", "asked", "canary"],
  wait: ["pending", "waiting", "undo_pending", "undo_waiting", "paused", "half_open", "not ready", "unknown"],
  bad: ["error", "failed", "undo_failed", "no agent", "no queue", "not consuming", "breaker open", "open", "stopped"],
};
export const kindOf = (word) => Object.keys(KINDS).find((kind) => KINDS[kind].includes(word)) ?? "over";
export const badge = (word, kind = kindOf(word)) => h("span", {class: `badge is-${kind}`}, words(word));

export const bulkLink = (id, title = null) => h("a", {class: title ? null : "id", href: `/bulk/${encodeURIComponent(id)}`}, title ?? id);
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
export const fact = (name, value) => value && h("div", {}, h("dt", {}, name), h("dd", {}, value));

/** A code as words: "order_error" is "order error". */
export const words = (text) => (text ?? "").replaceAll("_", " ");

/** A figure of several; with `href` a link to the counted things. */
export const tile = (name, value, {note = "", kind = "", href = null} = {}) => h("li", {class: `tile ${kind}`},
  h(href ? "a" : "div", {href}, h("span", {class: "soft"}, name), h("b", {}, value), note && h("span", {class: "soft"}, note)));

export const panel = (title, ...children) => h("section", {class: "panel"}, h("h2", {}, title), ...children);

/** Announces a text to screen readers; "" leaves the last one. */
export function say(text) {
  const said = document.getElementById("said");
  if (text !== "" && said.textContent !== text) said.textContent = text;
}
