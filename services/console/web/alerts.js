// Alerts: faults that need attention, by cause. One acknowledgement makes a cause known, with all its alerts, also later ones.
import {h, ago, badge, bulkLink, number, orderLink, panel, plural, table, words} from "/dom.js";
import {get, mayAct, post} from "/api.js";
import {reload} from "/app.js";
import {actButton, copyShow} from "/act.js";
import {NONE, causeHref} from "/overview.js";
import {incidentOfCause} from "/report_text.js";
import {countLink} from "/workflows.js";

const place = (row) => [row.workflow, row.step ?? "the order", row.service].filter(Boolean).join(" / ");

/** The words about this failure alone; the rest of the text is the same for each. */
const ownText = (row) => (row.workflow && row.text.match(/; step [^:;]+: ([^]*?)(?:; not undone: [^;]*)?$/)?.[1]) || row.text;

function subjectShow(row) {
  if (row.workflow) return [h("a", {href: causeHref(row)}, row.error ?? words(row.code)), h("div", {class: "soft"}, place(row))];
  if (row.order_id) return orderLink(row.order_id);
  return row.code === "bulk_stopped" ? bulkLink(row.subject) : row.subject;
}

/** The report of a cause: its orders, and the acts of operators since it began. */
export async function incidentShow(cause) {
  const [page, {actions}, {services}] = await Promise.all([
    cause.workflow ? get("orders", {state: "error", workflow: cause.workflow, step: cause.step || NONE, error: cause.error}) : {failures: []},
    get("audit", {since: cause.oldest.replace(/\.\d+Z$/, "Z")}), get("services")]);
  copyShow("Incident report", incidentOfCause({cause, orders: page.failures ?? [], actions, services}));
}

function acknowledge(row) {
  const others = Number(row.count) > 1 ? `all ${number(row.count)} alerts of this cause` : "the alert";
  return actButton("Acknowledge", {
    title: `Acknowledge: ${row.error ?? words(row.code)}`,
    text: `You acknowledge ${others}. The cause is then known: it needs no further attention, and other operators see your name. Alerts stay open until their cause is removed; a new alert of the cause is known, too.`,
    act: (reason) => post(`alerts/${row.alert_id}/ack`, {reason}), done: reload,
  });
}

const CAUSE_COLUMNS = [
  {name: "cause", cell: (row) => badge(row.code, row.acked_at ? "over" : "bad")},
  {name: "what", wide: true, cell: subjectShow},
  {name: "alerts", number: true, cell: (row) => (row.workflow ? countLink(row.count, causeHref(row)) : number(row.count))},
  {name: "since", cell: (row) => ago(row.oldest)},
  {name: "last", cell: (row) => ago(row.newest)},
  {name: "newest message", cell: (row) => [h("span", {title: row.text}, ownText(row)), row.order_id && row.workflow && [" ", orderLink(row.order_id)]]},
  {name: "known by", cell: (row) => (row.acked_at ? [row.acked_by, " ", ago(row.acked_at)] : mayAct() ? acknowledge(row) : "none")},
];
const reportColumn = {name: "report", cell: (row) => h("button", {type: "button", onclick: () => incidentShow(row)}, "Copy report")};

const ALERT_COLUMNS = [
  {name: "alert", cell: (row) => [badge(row.code, row.closed_at ? "over" : "bad"), " ", h("span", {class: "soft"}, `no. ${row.alert_id}`)]},
  {name: "subject", cell: (row) => (row.order_id ? orderLink(row.order_id) : row.code === "bulk_stopped" ? bulkLink(row.subject) : row.subject)},
  {name: "message", cell: (row) => row.text},
  {name: "opened", cell: (row) => ago(row.opened_at)},
  {name: "acknowledged by", cell: (row) => (row.acked_by ? [row.acked_by, " ", ago(row.acked_at)] : "")},
  {name: "closed", cell: (row) => ago(row.closed_at)},
];

function tabs(isAll) {
  return h("p", {class: "row"}, h("a", {class: "button", href: "/alerts", "aria-current": isAll ? null : "true"}, "Open, by cause"),
    h("a", {class: "button", href: "/alerts?all=1", "aria-current": isAll ? "true" : null}, "All"));
}

export async function show({main, query}) {
  const isAll = query.get("all") === "1";
  const {alerts, causes, is_cut: isCut} = await get("alerts", {all: isAll ? "1" : ""});
  const known = causes.filter((row) => row.acked_at).length;
  main.append(h("h1", {}, "Alerts"), tabs(isAll),
    isAll ? panel("All, newest first", table("Alerts", ALERT_COLUMNS, alerts, {empty: "No alert has been raised.", key: (row) => row.alert_id}),
      isCut && h("p", {class: "soft"}, "The list is cut. For more: makegood alert list --all --limit."))
      : panel(`${plural(causes.length - known, "cause needs", "causes need")} attention${known > 0 ? `, ${number(known)} known` : ""}`,
        table("Causes of open alerts", [...CAUSE_COLUMNS, ...(mayAct() ? [reportColumn] : [])], causes, {empty: "No alert is open.", key: (row) => row.alert_id})));
}
