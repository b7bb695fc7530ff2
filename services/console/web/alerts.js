// Alerts: faults that need attention, and the operator in charge of each.
import {h, badge, batchLink, orderLink, panel, table, when} from "/dom.js";
import {get, mayAct, post} from "/api.js";
import {go} from "/app.js";
import {actButton} from "/act.js";

const WHAT_TO_DO = {
  order_error: "Repair the cause of the failure, then resume the order.",
  outcome_unknown: "Check at the service whether the step was executed, then settle it.",
  undo_failed: "Repair the cause of the failure, then resume the order. Its effects are not fully undone yet.",
  state_lost: "The database lost confirmed commits. Compare the order with its services before you continue.",
  polls_failing: "The service has accepted the work, but its verify request keeps failing. Check that the service answers. The order continues.",
  unpublishable: "The broker accepts no messages for this queue. Check that the queue exists and has room.",
  poisoned: "A message cannot be processed. See the logs of the schedulers.",
  batch_stopped: "Too many orders of the batch failed again. Check them on its page, repair the cause, then start another batch.",
  newer_version: "Upgrade the schedulers, then requeue the messages on the page of dead letters.",
  dead_letter: "Check the messages on the page of dead letters, then requeue or drop them.",
  mass_expiry: "Many steps expired at once. Check that the agents and their services answer.",
  slow_sweep: "The database takes seconds for a sweep, so deadlines are judged late. Check its other load.",
  retention_stands: "Ended orders stay in the tables; no data is lost. Run makegood db retain, or repair the error that it reports.",
  statuses_given_up: "Clients missed statuses. Check that the queue exists and has room. The orders keep the undelivered statuses; a client that posts its order again receives its state.",
  invariant_violation: "This is a defect of Makegood. Download the order as JSON and report it.",
};

export async function show({main, query}) {
  const isAll = query.get("all") === "1";
  const {alerts, is_cut: isCut} = await get("alerts", {all: isAll ? "1" : ""});
  main.append(h("h1", {}, "Alerts"),
    h("p", {class: "row"}, h("a", {class: "button", href: "/alerts", "aria-current": isAll ? null : "true"}, "Open"),
      h("a", {class: "button", href: "/alerts?all=1", "aria-current": isAll ? "true" : null}, "All")),
    panel(isAll ? "All, newest first" : "Open, newest first", table("Alerts", [
      {name: "alert", cell: (row) => [badge(row.code, row.closed_at ? "over" : "bad"), " ", h("span", {class: "soft"}, `no. ${row.alert_id}`)]},
      {name: "subject", cell: (row) => (row.order_id ? orderLink(row.order_id) : row.code === "batch_stopped" ? batchLink(row.subject) : row.subject)},
      {name: "message", cell: (row) => [row.text, !row.closed_at && WHAT_TO_DO[row.code] && h("p", {class: "soft"}, WHAT_TO_DO[row.code])]},
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
