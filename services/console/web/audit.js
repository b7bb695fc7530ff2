// The acts of operators, in the console and by the tool.
import {h, ago, bulkLink, moments, orderLink, table, words} from "/dom.js";
import {get} from "/api.js";
import {pagedPanel, searchPanel} from "/list.js";

const DETAIL_SHOWN = 160; // characters
const FIELDS = [
  {name: "by", label: "operator", placeholder: "otto"},
  {name: "subject", label: "order, service, …"},
  {name: "since", label: "since", placeholder: "8h, 7d, 2026-01-31"},
  {name: "until", label: "until", placeholder: "1h, 2026-01-31T12:00Z"},
];

function subjectShow(row) {
  const [noun] = row.verb.split(" ");
  if (noun === "order") return orderLink(row.subject);
  if (noun === "bulk") return bulkLink(row.subject);
  if (noun === "service") return h("a", {href: "/services"}, row.subject);
  if (noun === "schedule") return h("a", {href: `/schedules/${encodeURIComponent(row.subject)}`}, row.subject);
  if (noun === "alert") return row.detail?.order_id ? orderLink(row.detail.order_id) : h("a", {href: "/alerts?all=1"}, `no. ${row.subject}`);
  return row.subject;
}

const isMoment = (value) => typeof value === "string" && /^\d{4}-\d\d-\d\dT[\d:.]+\+00:00$/.test(value);

/** A value in words: "workflow sale, step charge". */
function plain(value) {
  if (Array.isArray(value)) return value.map(plain).join(", ");
  if (typeof value === "object") return Object.entries(value).filter(([, inner]) => ![null, "", false].includes(inner)).map(named).join(", ");
  return isMoment(value) ? new Date(value).toISOString() : String(value);
}

/** "paused" for is_paused: true, "filter (error http_503)". */
function named([name, value]) {
  if (value === true) return words(name.replace(/^is_/, ""));
  return `${words(name)} ${typeof value === "object" && !Array.isArray(value) ? `(${plain(value)})` : plain(value)}`;
}

/** The rest of the record, in few words. */
function detailText(row) {
  const {via, version, command, order_id: orderId, code, ...more} = row.detail ?? {};
  const text = plain(more);
  return text.length > DETAIL_SHOWN ? `${text.slice(0, DETAIL_SHOWN)}…` : text;
}

const COLUMNS = [
  {name: "time", cell: (row) => ago(row.at)},
  {name: "operator", cell: (row) => row.by_whom},
  {name: "act", cell: (row) => h("strong", {class: "whole"}, row.verb)},
  {name: "on", wide: true, cell: subjectShow},
  {name: "outcome", cell: (row) => row.outcome && h("span", {class: row.outcome === "done" ? null : "failed"}, row.outcome)},
  {name: "reason", wide: true, cell: (row) => row.reason},
  {name: "detail", cell: (row) => h("span", {class: "soft"}, moments(detailText(row)))},
];

export async function show({main, query}) {
  const filter = Object.fromEntries(FIELDS.map(({name}) => [name, query.get(name) ?? ""]));
  main.append(h("h1", {}, "Audit"), searchPanel("/audit", FIELDS, filter), pagedPanel("Acts of operators, newest first", await get("audit", filter), {
    rowsOf: (page) => page.actions,
    show: (rows) => [table("Acts of operators", COLUMNS, rows, {empty: "No operator has done anything in this time.", key: (row) => row.action_id})],
    ask: (after) => get("audit", {...filter, after}),
  }));
}
