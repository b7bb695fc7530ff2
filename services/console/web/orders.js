// Orders by state, workflow, labels, step, error and time. Searches are bounded, and the page shows the bound if it cut one:
// "none" is always certain.
import {h, badge, number, orderLink, panel, plural, searchPanel, table, when, say} from "/dom.js";
import {get} from "/api.js";
import {go, moreButton} from "/app.js";

const STATES = [["", "any"], ["open", "open"], ["pending", "pending"], ["processing", "processing"], ["compensating", "compensating"],
  ["error", "error"], ["processed", "processed"], ["compensated", "compensated"], ["cancelled", "cancelled"]];
const FIELDS = ["state", "workflow", "label", "step", "error", "since", "until", "waits_for", "due_within"];

/** The order's reason, and the step that waits: "charge waits for payment: breaker open". */
export function why(row) {
  const reason = row.reason === "none" ? "" : row.reason.replaceAll("_", " ");
  if (!row.waits_step) return reason;
  const waits = `${row.waits_step} waits${row.waits_service ? ` for ${row.waits_service}` : ""}: ${row.waits_reason.replaceAll("_", " ")}`;
  return reason === "" ? waits : `${reason}; ${waits}`;
}

const LINE_COLUMN = {name: "line", brief: true, cell: (row) => row.line ?? ""}; // few orders have one
const ORDER_COLUMNS = [
  {name: "order", cell: (row) => orderLink(row.order_id)},
  {name: "state", brief: true, cell: (row) => badge(row.state)},
  {name: "workflow", brief: true, cell: (row) => row.workflow},
  {name: "why", cell: why},
  LINE_COLUMN,
  {name: "failures", number: true, cell: (row) => number(row.failure_count)},
  {name: "created", brief: true, cell: (row) => when(row.created_at)},
  {name: "updated", brief: true, cell: (row) => when(row.updated_at)},
];
const DUE_COLUMNS = [...ORDER_COLUMNS.slice(0, 3), {name: "deadline", cell: (row) => when(row.complete_by)}, ...ORDER_COLUMNS.slice(3)];
const FAILURE_COLUMNS = [
  {name: "order", cell: (row) => orderLink(row.order_id)},
  {name: "state", cell: (row) => badge(row.state ?? "gone")},
  {name: "workflow", cell: (row) => row.workflow},
  {name: "step", cell: (row) => row.step ?? "the order"},
  {name: "service", cell: (row) => row.service ?? ""},
  {name: "message", cell: (row) => row.text},
  {name: "since", cell: (row) => when(row.opened_at, {relative: true})},
];

function field(name, label, control) {
  control.id = `filter-${name}`;
  control.name = name;
  return h("div", {}, h("label", {for: control.id}, label), control);
}

function select(choices, value) {
  return h("select", {}, choices.map(([word, text]) => h("option", {value: word, selected: word === value}, text)));
}

function form(filter, workflows) {
  const input = (name, placeholder) => h("input", {value: filter[name], placeholder, autocomplete: "off", autocapitalize: "off", spellcheck: "false"});
  const names = [...new Set([...workflows.map((row) => row.name), filter.workflow].filter(Boolean))];
  const self = h("form", {class: "filters", onsubmit: (event) => {
    event.preventDefault();
    const wanted = new URLSearchParams([...new FormData(self)].map(([name, value]) => [name, value.trim()]).filter(([, value]) => value !== ""));
    go(`/orders${String(wanted) === "" ? "" : `?${wanted}`}`);
  }},
  field("state", "state", select(STATES, filter.state)),
  field("workflow", "workflow", select([["", "any"], ...names.map((name) => [name, name])], filter.workflow)),
  field("label", "labels", input("label", "customer=17")),
  field("step", "failed at step", input("step", "")),
  field("error", "error code", input("error", "card_declined")),
  field("since", "since", input("since", "2h, 2026-01-31")),
  field("until", "until", input("until", "2026-01-31T12:00Z")),
  field("due_within", "deadline within", input("due_within", "10m")),
  h("div", {class: "row"}, h("button", {type: "submit", class: "first"}, "Search"), h("a", {class: "button", href: "/orders"}, "Clear")));
  return self;
}

function lookedAt(page, count) {
  const looked = plural(page.looked_at, "order", "orders");
  if (page.failures) return page.is_full ? `Searched the newest ${number(page.looked_at)} failures, back to ${page.back_to}; narrow the time range for older ones.` : "";
  if (page.is_full) return `Searched ${looked}, those that are due first; more orders are open.`;
  if (page.next !== null && count === 0) return `No match in ${looked} searched so far, back to ${page.back_to}.`;
  return "";
}

export async function show({main, query}) {
  const filter = Object.fromEntries(FIELDS.map((name) => [name, query.get(name) ?? ""]));
  const list = h("div"), rows = [];
  const [first, {workflows}] = await Promise.all([get("orders", filter), get("workflows")]);
  const isFailures = first.failures !== undefined;
  const columns = isFailures ? FAILURE_COLUMNS : filter.due_within !== "" ? DUE_COLUMNS : ORDER_COLUMNS;
  let page = first;

  const draw = () => {
    rows.push(...(page.failures ?? page.orders));
    const note = lookedAt(page, rows.length);
    const had = rows.length;
    const more = moreButton(had === 0 ? "Search further back" : "More", async () => {
      page = await get("orders", {...filter, after: page.next});
    }, () => {
      draw();
      say(`${rows.length - had} more`);
      list.querySelectorAll("tbody tr")[had]?.querySelector("a")?.focus();
    });
    list.replaceChildren(
      table("Orders", columns.filter((column) => column !== LINE_COLUMN || rows.some((row) => row.line)), rows, {empty: page.next === null ? "No order matches." : "No match so far.", key: (row) => row.alert_id ?? row.order_id}),
      ...[note && h("p", {class: "soft"}, note), page.next !== null && h("p", {class: "row"}, more)].filter(Boolean));
  };
  main.append(h("h1", {}, "Orders"), searchPanel(form(filter, workflows), FIELDS.some((name) => filter[name] !== "")),
    panel(filter.due_within !== "" && filter.waits_for === "" ? `Orders whose deadline comes within ${filter.due_within}, the nearest first` : filter.waits_for !== "" ? `Orders that wait for service ${filter.waits_for}, oldest first` : isFailures ? "Open failures, newest first" : filter.label === "" && ["open", "pending", "processing", "compensating"].includes(filter.state) ? "Open orders, oldest first" : "Newest first", list));
  draw();
}
