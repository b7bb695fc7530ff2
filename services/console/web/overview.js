// The overview: open orders, stuck orders and faulty services, each with a link to its page.
import {h, morph, ago, badge, clockTell, duration, number, orderLink, panel, plural, say, table, tile, when, words} from "/dom.js";
import {get} from "/api.js";
import {watch} from "/app.js";
import {SILENT_MS, bulkTable, isDriven} from "/bulk_list.js";
import {orderChart} from "/charts.js";
import {why} from "/orders.js";
import {lastFailure, numberColumns, stateOf} from "/services.js";
import {countLink, ordersHref} from "/workflows.js";

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

const waitText = (service) => plural(service.waiting, "step waits", "steps wait");

// The need of a service in each state: {isBad, text, what}.
const SERVICE_NEEDS = {
  "no agent": ({service}) => ({isBad: true, text: `Service ${service} has no agent: its orders wait.`, what: "Start one: makegood-agent --service FILE."}),
  "not consuming": ({service}) => ({isBad: true, text: `Agents of service ${service} report, and none consumes: its orders wait.`, what: "If this lasts, end them and start them again."}),
  "no queue": ({service}) => ({isBad: true, text: `Service ${service} has no request queue: its orders wait.`, what: `Run: makegood broker apply --service ${service}`}),
  "breaker open": (row) => ({isBad: true, text: [`Service ${row.service} fails`, row.since && [" since ", when(row.since)], ". ", row.error_code && [lastFailure(row), ". "], `${waitText(row)}.`],
    what: "Repair it; its orders then continue automatically."}),
  "not ready": ({service}) => ({isBad: true, text: `The agents of service ${service} are not ready.`, what: "See the reason on the page of services."}),
  paused: (row) => ({isBad: false, text: [`Service ${row.service} is paused by ${row.by_whom}: ${row.reason}. Since `, when(row.since), `; ${waitText(row)}.`], what: "Its orders wait until it is resumed."}),
};

/** A slow service has the beginning of its slowness, by the rule of the report. */
function needsOfServices({services}) {
  return services.flatMap((service) => {
    const slow = service.slow_since && {isBad: false, what: "See its last hour.",
      text: [`Service ${service.service} is slow since `, when(service.slow_since), `: 95 of 100 calls take up to ${duration(service.p95_ms)}, usually ${duration(service.usual_ms)}.`]};
    return [SERVICE_NEEDS[service.state]?.(service), slow].filter(Boolean).map((need) => ({...need, href: "/services"}));
  });
}

/** One line for all causes of one alert; causes that somebody knows have a line each. */
function needsOfAlerts({causes}) {
  const known = causes.filter((cause) => cause.acked_at), unknown = causes.filter((cause) => !cause.acked_at);
  const lines = [...new Set(unknown.map((cause) => cause.code))].map((code) => {
    const own = unknown.filter((cause) => cause.code === code), count = own.reduce((sum, cause) => sum + Number(cause.count), 0);
    const about = ABOUT_ORDERS[code] ?? ABOUT_ALERTS[code] ?? [`alert ${words(code)} is open`, `alerts ${words(code)} are open`];
    const [href, what] = code in ABOUT_ORDERS ? ["/failures", "See the failures."] : PLACES[code] ?? ["/alerts", "See the alerts."];
    return {isBad: true, href, what, text: `${plural(count, ...about)}; ${count > 1 ? "the oldest" : "its"} alert is ${duration(Math.max(...own.map((cause) => Number(cause.oldest_ms))))} old.`};
  });
  return [...lines, ...known.slice(0, KNOWN_LISTED).map((cause) => ({isKnown: true, isBad: false, href: "/alerts", what: "See the alerts.",
    text: `${plural(cause.count, "alert", "alerts")} ${cause.error ?? words(cause.code)}${cause.step ? ` at step ${cause.step}` : ""}, known by ${cause.acked_by}.`}))];
}

/** All conditions that need a person, worst first, as `{isBad, text, href, what}`. */
function needs(data) {
  const [leader] = data.leader, [runner] = data.runner;
  const isLed = leader && leader.holder !== "" && leader.age_ms !== null && Number(leader.age_ms) <= SILENT_MS;
  const owed = data.figures.filter((row) => row.figure === "owed" && Number(row.number) > 0 && Number(row.oldest_ms) > OWED_LATE_MS);
  return [
    !isLed && {isBad: true, text: "No supervisor leads: overdue steps are not detected.", what: "Start makegood-supervisor."},
    ...needsOfServices(data), ...needsOfAlerts(data),
    ...owed.map((row) => ({isBad: false, text: `${plural(row.number, "status is", "statuses are")} owed to clients, the oldest for ${duration(row.oldest_ms)}.`,
      what: "A client's queue is missing or full. Delivery is retried at growing intervals, and given up after a day."})),
    runner && Number(runner.open_bulk) > 0 && !isDriven(runner)
      && {isBad: true, href: "/bulk", text: `${plural(runner.open_bulk, "bulk action is", "bulk actions are")} open, and no process runs them.`, what: "See the bulk actions."},
  ].filter(Boolean).sort((a, b) => Number(b.isBad) - Number(a.isBad));
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

/** Each figure leads to the list of the counted things. */
function tiles(data) {
  const of = (figure, isWanted = () => true) => data.figures.filter((row) => row.figure === figure && isWanted(row.word));
  const unknown = data.causes.filter((cause) => !cause.acked_at);
  const figure = (name, rows, href, kind = "") => {
    const sum = rows.reduce((total, row) => total + Number(row.number), 0), oldest = rows.reduce((most, row) => Math.max(most, Number(row.oldest_ms)), 0);
    return tile(name, number(sum), {href: sum > 0 ? href : null, note: sum > 0 ? `oldest ${duration(oldest)}` : "none", kind: sum > 0 ? kind : ""});
  };
  const isAboutOrder = (word) => word in ABOUT_ORDERS;
  const kindOfAlerts = (isWanted) => (unknown.some((cause) => isWanted(cause.code)) ? "is-bad" : "is-wait");
  return h("ul", {class: "tiles", "aria-label": "Figures"},
    OPEN.map((state) => figure(state, of("orders", (word) => word === state), ordersHref({state}))),
    figure("failures open", of("alerts", isAboutOrder), "/failures", kindOfAlerts(isAboutOrder)),
    figure("other alerts", of("alerts", (word) => !isAboutOrder(word)), "/alerts", kindOfAlerts((word) => !isAboutOrder(word))),
    figure("statuses owed", of("owed"), null, "is-wait"));
}

function bulk(data) {
  const open = data.bulk.filter((row) => !row.ended_at);
  return open.length > 0 && panel("Bulk actions under way", bulkTable(open));
}

export const NONE = "-"; // in a filter: no step, or no service
export const causeHref = ({workflow, step, error}) => ordersHref({state: "error", workflow: workflow ?? "", step: step || NONE, error: error ?? ""});

export const GROUP_COLUMNS = [
  {name: "error", cell: (row) => h("a", {href: causeHref(row)}, row.error)},
  {name: "orders", number: true, cell: (row) => countLink(row.count, causeHref(row))},
  {name: "workflow", brief: true, cell: (row) => row.workflow},
  {name: "step", brief: true, cell: (row) => row.step ?? "the order"},
  {name: "service", brief: true, cell: (row) => row.service ?? ""},
  {name: "since", brief: true, cell: (row) => ago(row.oldest)},
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
    {name: "last change", brief: true, cell: (row) => ago(row.updated_at)},
    {name: "created", brief: true, cell: (row) => ago(row.created_at)},
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
  morph(main, h("div", {}, verdict(data), tiles(data), panel("Orders of the last hour", orderChart(data.order_minutes[0])), bulk(data), failures(data), services(data), oldest(data),
    h("p", {class: "soft"}, leader && leader.holder !== "" ? `Leading supervisor: ${leader.holder}, epoch ${leader.epoch}.` : "No supervisor leads.")));
  document.getElementById("fresh").textContent = `as of ${new Date().toLocaleTimeString()}`;
}

export async function show({main}) {
  draw(main, await get("overview"));
  const end = watch({}, {overview: (data) => draw(main, data)});
  return () => {
    end();
    document.getElementById("fresh").textContent = "";
  };
}
