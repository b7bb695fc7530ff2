// Orders by state, workflow, labels, step, error and time. Searches are bounded, and the page shows the bound if it cut one:
// "none" is always certain.
import {h, ago, badge, number, orderLink, plural, table, words} from "/dom.js";
import {get} from "/api.js";
import {pagedPanel, searchPanel} from "/list.js";

const STATES = [["", "any"], ["open", "open"], ["pending", "pending"], ["processing", "processing"], ["compensating", "compensating"],
  ["error", "error"], ["processed", "processed"], ["compensated", "compensated"], ["cancelled", "cancelled"]];
const OPEN = ["open", "pending", "processing", "compensating"];
const FIELDS = [
  {name: "state", label: "state", choices: STATES},
  {name: "workflow", label: "workflow"},
  {name: "label", label: "labels", placeholder: "customer=17"},
  {name: "step", label: "failed at step"},
  {name: "error", label: "error code", placeholder: "card_declined"},
  {name: "since", label: "since", placeholder: "2h, 2026-01-31"},
  {name: "until", label: "until", placeholder: "2026-01-31T12:00Z"},
  {name: "due_within", label: "deadline within", placeholder: "10m"},
];

/** The order's reason, and its step that failed or waits: "charge failed: http_422/card_declined". */
export function why(row) {
  const reason = row.failed_step && row.reason === "step_failed" ? `${row.failed_step} failed${row.failed_error ? `: ${row.failed_error}` : ""}` : row.reason === "none" ? "" : words(row.reason);
  if (!row.waits_step) return reason;
  const waits = `${row.waits_step} waits${row.waits_service ? ` for ${row.waits_service}` : ""}: ${words(row.waits_reason)}`;
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
  {name: "created", brief: true, cell: (row) => ago(row.created_at)},
  {name: "updated", brief: true, cell: (row) => ago(row.updated_at)},
];
const DUE_COLUMNS = [...ORDER_COLUMNS.slice(0, 3), {name: "deadline", cell: (row) => ago(row.complete_by)}, ...ORDER_COLUMNS.slice(3)];
const FAILURE_COLUMNS = [
  {name: "order", cell: (row) => orderLink(row.order_id)},
  {name: "state", cell: (row) => badge(row.state ?? "gone")},
  {name: "workflow", cell: (row) => row.workflow},
  {name: "step", cell: (row) => row.step ?? "the order"},
  {name: "service", cell: (row) => row.service ?? ""},
  {name: "message", cell: (row) => row.text},
  {name: "since", cell: (row) => ago(row.opened_at)},
];

function lookedAt(page, count) {
  const looked = plural(page.looked_at, "order", "orders");
  if (page.failures) return page.is_full ? `Searched the newest ${number(page.looked_at)} failures, back to ${page.back_to}; narrow the time range for older ones.` : "";
  if (page.is_full) return `Searched ${looked}, those that are due first; more orders are open.`;
  if (page.next !== null && count === 0) return `No match in ${looked} searched so far, back to ${page.back_to}.`;
  return "";
}

/** The heading of the list, by its contents and their order. */
function titleOf(filter, isFailures) {
  if (filter.waits_for === "" && filter.due_within !== "") return `Orders whose deadline comes within ${filter.due_within}, the nearest first`;
  if (filter.waits_for !== "") return `Orders that wait for service ${filter.waits_for}, oldest first`;
  if (isFailures) return "Open failures, newest first";
  return filter.label === "" && OPEN.includes(filter.state) ? "Open orders, oldest first" : "Newest first";
}

export async function show({main, query}) {
  const filter = Object.fromEntries([...FIELDS.map(({name}) => name), "waits_for"].map((name) => [name, query.get(name) ?? ""]));
  const [first, {workflows}] = await Promise.all([get("orders", filter), get("workflows")]);
  const isFailures = first.failures !== undefined, columns = isFailures ? FAILURE_COLUMNS : filter.due_within !== "" ? DUE_COLUMNS : ORDER_COLUMNS;
  const names = [...new Set([...workflows.map((row) => row.name), filter.workflow].filter(Boolean))];
  const fields = FIELDS.map((field) => (field.name === "workflow" ? {...field, choices: [["", "any"], ...names.map((name) => [name, name])]} : field));
  main.append(h("h1", {}, "Orders"), searchPanel("/orders", fields, filter), pagedPanel(titleOf(filter, isFailures), first, {
    rowsOf: (page) => page.failures ?? page.orders,
    show: (rows, page) => {
      const note = lookedAt(page, rows.length);
      return [table("Orders", columns.filter((column) => column !== LINE_COLUMN || rows.some((row) => row.line)), rows,
        {empty: page.next === null ? "No order matches." : "No match so far.", key: (row) => row.alert_id ?? row.order_id}), note && h("p", {class: "soft"}, note)];
    },
    ask: (after) => get("orders", {...filter, after}),
  }));
}
