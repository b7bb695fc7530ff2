// The overview: open orders, stuck orders and faulty services, each with a link to its page.
import {h, morph, badge, clockTell, duration, number, orderLink, panel, plural, say, table, when} from "/dom.js";
import {get} from "/api.js";
import {trouble, watch} from "/app.js";
import {SILENT_MS, bulkTable, isDriven} from "/bulk_list.js";
import {orderChart, slowness} from "/charts.js";
import {why} from "/orders.js";
import {lastFailure, numberColumns, stateOf} from "/services.js";

const ABOUT_ALERTS = { // texts of other alerts
  bulk_stopped: ["bulk action has stopped by itself", "bulk actions have stopped by themselves"],
  dead_letter: ["queue has dead letters", "queues have dead letters"],
  schedule_missed: ["schedule has missed a slot", "schedules have missed slots"],
};
const KNOWN_LISTED = 5;
const OWED_LATE_MS = 300000; // as `makegood doctor` and the rule MakegoodStatusesOwed
const OPEN = ["pending", "processing", "compensating"];
const ABOUT_ORDERS = { // texts of alerts about orders, for one order and for several
  order_error: ["order has failed", "orders have failed"],
  outcome_unknown: ["order has a step with unknown outcome", "orders have a step with unknown outcome"],
  undo_failed: ["order could not be undone", "orders could not be undone"],
  set_aside: ["order is set aside", "orders are set aside"],
  late_callback: ["order was reported as done after its undo", "orders were reported as done after their undo"],
  state_lost: ["order has lost confirmed state", "orders have lost confirmed state"],
};

const PLACES = {dead_letter: ["/dead", "See the dead letters."], bulk_stopped: ["/bulk", "See the bulk actions."], schedule_missed: ["/schedules", "See the schedules."]};

/** "1 cause known (otto)". */
function knownText(known) {
  const names = [...new Set(known.map((cause) => (cause.acked_by ?? "").split(":")[0]))];
  return `${plural(known.length, "cause", "causes")} known (${names.slice(0, 3).join(", ")}${names.length > 3 ? ", …" : ""})`;
}

/** All conditions that need a person, worst first, as `{isBad, text, href, what}`. */
function needs(data) {
  const found = [];
  const leader = data.leader[0];
  const of = (figure) => data.figures.filter((row) => row.figure === figure && Number(row.number) > 0);
  if (!leader || leader.holder === "" || leader.age_ms === null || Number(leader.age_ms) > SILENT_MS) {
    found.push({isBad: true, text: "No supervisor leads: overdue steps are not detected.", what: "Start makegood-supervisor."});
  }
  for (const service of data.services) {
    const href = "/services";
    if (service.state === "no agent") found.push({isBad: true, href, text: `Service ${service.service} has no agent: its orders wait.`, what: "Start one: makegood-agent --service FILE."});
    else if (service.state === "not consuming") found.push({isBad: true, href, text: `Agents of service ${service.service} report, and none consumes: its orders wait.`, what: "If this lasts, end them and start them again."});
    else if (service.state === "no queue") found.push({isBad: true, href, text: `Service ${service.service} has no request queue: its orders wait.`, what: `Run: makegood broker apply --service ${service.service}`});
    else if (service.state === "breaker open") found.push({isBad: true, href, text: [`Service ${service.service} fails`, service.since && [" since ", when(service.since)], ". ", service.error_code && [lastFailure(service), ". "], `${plural(service.waiting, "step waits", "steps wait")}.`],
      what: "Repair it; its orders then continue automatically."});
    else if (service.state === "not ready") found.push({isBad: true, href, text: `The agents of service ${service.service} are not ready.`, what: "See the reason on the page of services."});
    else if (service.state === "paused") found.push({isBad: false, href, text: [`Service ${service.service} is paused by ${service.by_whom}: ${service.reason}. Since `, when(service.since), `; ${plural(service.waiting, "step waits", "steps wait")}.`], what: "Its orders wait until it is resumed."});
    const slow = slowness(service, data.minutes.find((row) => row.service === service.service));
    if (slow !== "") found.push({isBad: false, href, text: `Service ${service.service} is slow: ${slow}.`, what: "See its last hour."});
  }
  const unknown = data.causes.filter((cause) => !cause.acked_at);
  for (const word of new Set(unknown.map((cause) => cause.code))) {
    const causes = unknown.filter((cause) => cause.code === word), count = causes.reduce((sum, cause) => sum + Number(cause.count), 0);
    const since = Math.max(...causes.map((cause) => Number(cause.oldest_ms)));
    const about = ABOUT_ORDERS[word], [href, what] = about ? ["/failures", "See the failures."] : PLACES[word] ?? ["/alerts", "See the alerts."];
    found.push({isBad: true, href, what,
      text: `${about ?? ABOUT_ALERTS[word] ? plural(count, ...(about ?? ABOUT_ALERTS[word])) : plural(count, `alert ${word.replaceAll("_", " ")} is open`, `alerts ${word.replaceAll("_", " ")} are open`)}; ${count > 1 ? "the oldest" : "its"} alert is ${duration(since)} old.`});
  }
  const known = data.causes.filter((cause) => cause.acked_at);
  for (const cause of known.slice(0, KNOWN_LISTED)) {
    found.push({isKnown: true, isBad: false, href: "/alerts", what: "See the alerts.",
      text: `${plural(cause.count, "alert", "alerts")} ${cause.error ?? cause.code.replaceAll("_", " ")}${cause.step ? ` at step ${cause.step}` : ""}, known by ${cause.acked_by}.`});
  }
  for (const row of of("owed")) {
    if (Number(row.oldest_ms) > OWED_LATE_MS) found.push({isBad: false, text: `${plural(row.number, "status is", "statuses are")} owed to clients, the oldest for ${duration(row.oldest_ms)}.`, what: "A client's queue is missing or full. Delivery is retried at growing intervals, and given up after a day."});
  }
  const runner = data.runner[0];
  if (runner && Number(runner.open_bulk) > 0 && !isDriven(runner)) {
    found.push({isBad: true, href: "/bulk", text: `${plural(runner.open_bulk, "bulk action is", "bulk actions are")} open, and no process runs them.`, what: "See the bulk actions."});
  }
  return found.sort((a, b) => Number(b.isBad) - Number(a.isBad));
}

function verdict(data) {
  const found = needs(data), bad = found.filter((each) => each.isBad).length;
  const known = data.causes.filter((cause) => cause.acked_at), notes = found.filter((each) => !each.isBad && !each.isKnown).length;
  const title = bad > 0 ? `${plural(bad, "problem needs", "problems need")} attention` : notes > 0 ? "No problems, with notes" : known.length > 0 ? `Well, ${knownText(known)}` : "All is well";
  say(title);
  return h("section", {class: `panel verdict ${bad > 0 ? "is-bad" : notes > 0 ? "is-wait" : ""}`},
    h("h1", {}, title),
    found.length === 0 ? h("p", {class: "soft"}, "A supervisor leads, every service is served, no alert is open.")
      : h("ul", {}, found.slice(0, 12).map((each) => h("li", {}, each.text, " ", each.href ? h("a", {href: each.href}, each.what) : each.what))));
}

function tile(name, value, note, kind = "") {
  return h("li", {class: `tile ${kind}`}, h("span", {class: "soft"}, name), h("b", {}, value), h("span", {class: "soft"}, note));
}

function tiles(data) {
  const orders = data.figures.filter((row) => row.figure === "orders");
  const sum = (rows) => rows.reduce((total, row) => total + Number(row.number), 0);
  const oldest = (rows) => rows.reduce((most, row) => Math.max(most, Number(row.oldest_ms)), 0);
  const alerts = data.figures.filter((row) => row.figure === "alerts"), owed = data.figures.filter((row) => row.figure === "owed");
  const failing = alerts.filter((row) => row.word in ABOUT_ORDERS), others = alerts.filter((row) => !(row.word in ABOUT_ORDERS)), unknown = data.causes.filter((cause) => !cause.acked_at);
  const kind = (rows, causes) => (sum(rows) === 0 ? "" : causes.length > 0 ? "is-bad" : "is-wait");
  return h("ul", {class: "tiles", "aria-label": "Figures"},
    OPEN.map((state) => {
      const rows = orders.filter((row) => row.word === state);
      return tile(state, number(sum(rows)), rows.length > 0 ? `oldest ${duration(oldest(rows))}` : "none open");
    }),
    tile("failures open", number(sum(failing)), failing.length > 0 ? `oldest ${duration(oldest(failing))}` : "none", kind(failing, unknown.filter((cause) => cause.code in ABOUT_ORDERS))),
    tile("other alerts", number(sum(others)), others.length > 0 ? `oldest ${duration(oldest(others))}` : "none", kind(others, unknown.filter((cause) => !(cause.code in ABOUT_ORDERS)))),
    tile("statuses owed", number(sum(owed)), sum(owed) > 0 ? `oldest ${duration(oldest(owed))}` : "none", sum(owed) > 0 ? "is-wait" : ""));
}

function bulk(data) {
  const open = data.bulk.filter((row) => !row.ended_at);
  return open.length > 0 && panel("Bulk actions under way", bulkTable(open));
}

export const NONE = "-"; // in a filter: no step, or no service
export const groupHref = (row) => `/orders?${new URLSearchParams({state: "error", workflow: row.workflow ?? "", step: row.step || NONE, error: row.error ?? ""})}`;

export const GROUP_COLUMNS = [
  {name: "error", cell: (row) => h("a", {href: groupHref(row)}, row.error)},
  {name: "orders", number: true, cell: (row) => number(row.count)},
  {name: "workflow", brief: true, cell: (row) => row.workflow},
  {name: "step", brief: true, cell: (row) => row.step ?? "the order"},
  {name: "service", brief: true, cell: (row) => row.service ?? ""},
  {name: "since", brief: true, cell: (row) => when(row.oldest, {relative: true})},
];

function failures(data) {
  return panel("Failures by cause", table("Failures by cause", GROUP_COLUMNS, data.groups, {empty: "No failures."}), data.groups.length > 0 && h("p", {}, h("a", {href: "/failures"}, "All failures")));
}

function oldest(data) {
  return panel("Oldest open orders", table("Oldest open orders", [
    {name: "order", cell: (row) => orderLink(row.order_id)},
    {name: "state", brief: true, cell: (row) => badge(row.state)},
    {name: "workflow", brief: true, cell: (row) => row.workflow},
    {name: "why", cell: why},
    {name: "last change", brief: true, cell: (row) => when(row.updated_at, {relative: true})},
    {name: "created", brief: true, cell: (row) => when(row.created_at, {relative: true})},
  ], data.oldest.orders, {empty: "No order is open."}), data.oldest.orders.length > 0 && h("p", {}, h("a", {href: "/orders?state=open"}, "All open orders")));
}

function services(data) {
  return panel("Services", table("Services", [
    {name: "service", cell: (row) => h("a", {href: "/services"}, row.service)},
    {name: "state", cell: stateOf},
    ...numberColumns(new Map(data.minutes.map((row) => [row.service, row]))),
  ], data.services, {empty: "No service is known: no workflow is loaded, and no agent has reported."}));
}

function draw(main, data) {
  clockTell(data.now_ms);
  const leader = data.leader[0];
  const wanted = h("div", {}, verdict(data), tiles(data), panel("Orders of the last hour", orderChart(data.order_minutes[0])), bulk(data), failures(data), services(data), oldest(data),
    h("p", {class: "soft"}, leader && leader.holder !== "" ? `Leading supervisor: ${leader.holder}, epoch ${leader.epoch}.` : "No supervisor leads."));
  morph(main, wanted);
}

export async function show({main}) {
  draw(main, await get("overview"));
  const fresh = document.getElementById("fresh");
  const shown = () => { fresh.textContent = `as of ${new Date().toLocaleTimeString()}`; };
  shown();
  const stop = watch({}, {
    overview: (data) => { trouble(""); draw(main, data); shown(); },
  });
  return () => { stop(); fresh.textContent = ""; };
}
