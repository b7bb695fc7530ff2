// Alerts: faults that need attention, and the operator in charge of each. An alert's text holds its remedy.
import {h, badge, bulkLink, orderLink, panel, table, when} from "/dom.js";
import {get, mayAct, post} from "/api.js";
import {go} from "/app.js";
import {actButton} from "/act.js";

export async function show({main, query}) {
  const isAll = query.get("all") === "1";
  const {alerts, is_cut: isCut} = await get("alerts", {all: isAll ? "1" : ""});
  main.append(h("h1", {}, "Alerts"),
    h("p", {class: "row"}, h("a", {class: "button", href: "/alerts", "aria-current": isAll ? null : "true"}, "Open"),
      h("a", {class: "button", href: "/alerts?all=1", "aria-current": isAll ? "true" : null}, "All")),
    panel(isAll ? "All, newest first" : "Open, newest first", table("Alerts", [
      {name: "alert", cell: (row) => [badge(row.code, row.closed_at ? "over" : "bad"), " ", h("span", {class: "soft"}, `no. ${row.alert_id}`)]},
      {name: "subject", cell: (row) => (row.order_id ? orderLink(row.order_id) : row.code === "bulk_stopped" ? bulkLink(row.subject) : row.subject)},
      {name: "message", cell: (row) => row.text},
      {name: "opened", cell: (row) => when(row.opened_at)},
      {name: "acknowledged by", cell: (row) => (row.acked_by ? [row.acked_by, " ", when(row.acked_at)]
        : mayAct() && !row.closed_at ? actButton("Acknowledge", {
          title: `Acknowledge alert ${row.alert_id}`, text: "The alert stays open until its cause is removed. Other operators see that you acknowledged it.",
          act: (reason) => post(`alerts/${row.alert_id}/ack`, {reason}), done: () => go(location.pathname + location.search, {keepsFocus: true}),
        }) : "")},
      ...(isAll ? [{name: "closed", cell: (row) => when(row.closed_at)}] : []),
    ], alerts, {empty: isAll ? "No alert has been raised." : "No alert is open.", key: (row) => row.alert_id}),
    isCut && h("p", {class: "soft"}, "The list is cut. For more: makegood alert list --limit.")));
}
