// Alerts: faults that need attention, and the operator in charge of each.
import {h, badge, batchLink, orderLink, panel, table, when} from "/dom.js";
import {get, mayAct, post} from "/api.js";
import {go} from "/app.js";
import {actButton} from "/act.js";

const WHAT_TO_DO = {
  order_error: "Mend what its failure says, then resume the order.",
  outcome_unknown: "Find out at the service what became of the step, then settle it.",
  undo_failed: "Mend what its failure says, then resume the order: what was done is not yet undone.",
  state_lost: "The database lost what it had confirmed: compare the order with the service before you go on.",
  polls_failing: "The service has accepted the work, and its verify fails again and again: see whether it answers. The order goes on.",
  unpublishable: "The broker takes no message for this queue: see whether it is there and has room.",
  poisoned: "A message cannot be handled: see the logs of the schedulers.",
  batch_stopped: "Too many of its orders failed again: see them on its page, mend the cause, then start another batch.",
  newer_version: "Upgrade the schedulers, then requeue what was set aside on the page of dead letters.",
  dead_letter: "See what was set aside on the page of dead letters.",
  mass_expiry: "Many steps expired at once: see whether agents and their services answer.",
  slow_sweep: "The database takes seconds for a sweep, so deadlines are judged late: see what else it does.",
  retention_stands: "Orders that ended stay in the tables, and nothing is lost: run makegood db retain, or mend what it says.",
  statuses_given_up: "Clients missed statuses: see whether the queue is there and has room. Orders keep what was not told; a client that posts its order again is told its state.",
  invariant_violation: "A fault of Makegood: keep the dossier of the order and report it.",
};

export async function show({main, query}) {
  const isAll = query.get("all") === "1";
  const {alerts, is_cut: isCut} = await get("alerts", {all: isAll ? "1" : ""});
  main.append(h("h1", {}, "Alerts"),
    h("p", {class: "row"}, h("a", {class: "button", href: "/alerts", "aria-current": isAll ? null : "true"}, "Open ones"),
      h("a", {class: "button", href: "/alerts?all=1", "aria-current": isAll ? "true" : null}, "All")),
    panel(isAll ? "All, newest first" : "Open, newest first", table("Alerts", [
      {name: "alert", cell: (row) => [badge(row.code, row.closed_at ? "over" : "bad"), " ", h("span", {class: "soft"}, `no. ${row.alert_id}`)]},
      {name: "about", cell: (row) => (row.order_id ? orderLink(row.order_id) : row.code === "batch_stopped" ? batchLink(row.subject) : row.subject)},
      {name: "what it says", cell: (row) => [row.text, !row.closed_at && WHAT_TO_DO[row.code] && h("p", {class: "soft"}, WHAT_TO_DO[row.code])]},
      {name: "opened", cell: (row) => when(row.opened_at)},
      {name: "looked after by", cell: (row) => (row.acked_by ? [row.acked_by, " ", when(row.acked_at)]
        : mayAct() && !row.closed_at ? actButton("Look after it", {
          title: `Look after alert ${row.alert_id}`, text: "It stays open until its cause is gone. Others see that you look after it.",
          act: (reason) => post(`alerts/${row.alert_id}/ack`, {reason}), done: () => go(location.pathname + location.search, {keepsFocus: true}),
        }) : "")},
      ...(isAll ? [{name: "closed", cell: (row) => when(row.closed_at)}] : []),
    ], alerts, {empty: isAll ? "There has never been one." : "No alert is open.", key: (row) => row.alert_id}),
    isCut && h("p", {class: "soft"}, "There are more; see makegood alert list --limit.")));
}
