// The acts of operators, in the console and by the tool.
import {h, bulkLink, orderLink, panel, say, searchPanel, table, when} from "/dom.js";
import {get} from "/api.js";
import {go, moreButton} from "/app.js";

const FIELDS = [
  {name: "by", label: "operator", placeholder: "otto"},
  {name: "subject", label: "order, service, …", placeholder: ""},
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

/** A value in words: "workflow sale, step charge". */
function plain(value) {
  if (Array.isArray(value)) return value.map(plain).join(", ");
  if (typeof value !== "object" || value === null) return String(value);
  return Object.entries(value).map(([name, inner]) => `${name.replaceAll("_", " ")} ${plain(inner)}`).join(", ");
}

/** The rest of the record, in few words. */
function detailText(row) {
  const {via, version, command, order_id: orderId, code, ...more} = row.detail ?? {};
  const text = Object.entries(more).filter(([, value]) => value !== null && value !== "" && value !== false)
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${typeof value === "object" && !Array.isArray(value) ? `(${plain(value)})` : plain(value)}`).join(", ");
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}

const COLUMNS = [
  {name: "time", cell: (row) => when(row.at)},
  {name: "operator", cell: (row) => row.by_whom},
  {name: "act", cell: (row) => h("strong", {class: "whole"}, row.verb)},
  {name: "on", wide: true, cell: subjectShow},
  {name: "outcome", cell: (row) => row.outcome && h("span", {class: row.outcome === "done" ? null : "failed"}, row.outcome)},
  {name: "reason", wide: true, cell: (row) => row.reason},
  {name: "detail", cell: (row) => detailText(row) && h("span", {class: "soft"}, detailText(row))},
];

function form(filter) {
  const self = h("form", {class: "filters", onsubmit: (event) => {
    event.preventDefault();
    const wanted = new URLSearchParams([...new FormData(self)].map(([name, value]) => [name, value.trim()]).filter(([, value]) => value !== ""));
    go(`/audit${String(wanted) === "" ? "" : `?${wanted}`}`);
  }}, FIELDS.map(({name, label, placeholder}) => h("div", {}, h("label", {for: `filter-${name}`}, label),
    h("input", {id: `filter-${name}`, name, value: filter[name], placeholder, autocomplete: "off", autocapitalize: "off", spellcheck: "false"}))),
  h("div", {class: "row"}, h("button", {type: "submit", class: "first"}, "Search"), h("a", {class: "button", href: "/audit"}, "Clear")));
  return self;
}

export async function show({main, query}) {
  const filter = Object.fromEntries(FIELDS.map(({name}) => [name, query.get(name) ?? ""]));
  const list = h("div"), rows = [];
  let page = await get("audit", filter);
  const draw = () => {
    rows.push(...page.actions);
    const more = moreButton("More", async () => {
      page = await get("audit", {...filter, after: page.next});
    }, () => {
      draw();
      say(`${page.actions.length} more`);
    });
    list.replaceChildren(table("Acts of operators", COLUMNS, rows, {empty: "No operator has done anything in this time.", key: (row) => row.action_id}),
      ...(page.next === null ? [] : [h("p", {class: "row"}, more)]));
  };
  main.append(h("h1", {}, "Audit"), searchPanel(form(filter), FIELDS.some(({name}) => filter[name] !== "")), panel("Acts of operators, newest first", list));
  draw();
}
