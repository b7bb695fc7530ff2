// Remote services: since when they fail, how quickly they answer, the operator settings, and the agents' reports.
import {h, morph, badge, duration, number, panel, plural, table, when} from "/dom.js";
import {get, mayAct, post} from "/api.js";
import {go, trouble} from "/app.js";
import {actButton} from "/act.js";
import {sparkline} from "/charts.js";

const AGAIN_MS = 5000; // as often as agents report

function limits(service) {
  const wanted = [service.concurrency && `${number(service.concurrency)} concurrent calls`, service.rate_per_s && `${number(service.rate_per_s)} calls per second`].filter(Boolean);
  return wanted.length > 0 ? `${wanted.join(", ")}, over all agents` : "as set in the agents' service files";
}
const again = () => go("/services", {keepsFocus: true});

function buttons(service) {
  const send = (verb) => (reason, fields) => post(`services/${encodeURIComponent(service.service)}/${verb}`, {reason, version: Number(service.version), ...fields});
  return h("div", {class: "row"},
    service.state === "paused"
      ? actButton("Resume", {title: `Resume service ${service.service}`, text: "Its agents call it again, and its waiting steps continue.", act: send("resume"), done: again})
      : actButton("Pause", {title: `Pause service ${service.service}`, text: "Its agents stop calling it; calls under way end. Its steps wait without using attempts, but the deadlines of the orders still apply.",
        fields: [{name: "for", label: "duration (10m, 2h); empty: until it is resumed"}], act: send("pause"), done: again}),
    actButton("Limit", {title: `Limit service ${service.service}`, text: "The limits apply to all its agents together. No agent exceeds the limits of its service file.",
      fields: [{name: "concurrency", label: "concurrent calls; none: no limit; empty: unchanged"}, {name: "rate", label: "calls per second; none: no limit; empty: unchanged"}],
      act: send("limit"), done: again}));
}

export const waitingLink = (service) => (Number(service.waiting) === 0 ? "0"
  : h("a", {href: `/orders?${new URLSearchParams({waits_for: service.service})}`}, `${number(service.waiting)}${Number(service.waiting) === 10000 ? " or more" : ""}`));

export const stateOf = (service) => h("span", {class: "whole"}, badge(service.state), service.since && [" for ", h("time", {datetime: service.since, title: service.since}, duration(service.since_ms))]);

/** The columns of numbers, which the overview has, too. `minutes`: of all services, by name. */
export const numberColumns = (minutes) => [
  {name: "calls/s", number: true, cell: (row) => (row.calls_per_s === null ? "–" : number(row.calls_per_s))},
  {name: "p95", number: true, cell: (row) => (row.p95_ms === null ? "–" : duration(row.p95_ms))},
  {name: "failed", number: true, cell: (row) => (row.failed_percent === null ? "–" : h("span", {class: row.failed_percent > 0 ? "failed" : null}, `${number(row.failed_percent)} %`))},
  {name: "refused", number: true, cell: (row) => (row.refused_percent === null ? "–" : `${number(row.refused_percent)} %`)},
  {name: "calls, last hour", cell: (row) => {
    const own = minutes.get(row.service);
    return own ? sparkline(`Calls to ${row.service}`, own.calls, {failed: own.failed, pausedSince: row.state === "paused" ? row.since : null}) : "–";
  }},
  {name: "waiting", number: true, cell: waitingLink},
];

/** "http_503: maintenance, 3 s ago; next probe in 4 s". */
export const lastFailure = (row) => row.error_code && [`${row.error_code}: ${row.error_text}, `, when(row.error_at, {relative: true}), row.probe_at && ["; next probe ", when(row.probe_at, {relative: true})]];

function settings(row) {
  return h("span", {class: "soft"}, limits(row), row.by_whom && ["; ", `${row.by_whom}: ${row.reason} `, when(row.set_at)], row.paused_until && ["; paused until ", when(row.paused_until)]);
}

function dense(title, ...children) {
  const own = panel(title, ...children);
  own.classList.add("dense");
  return own;
}

function draw({services, agents, minutes}) {
  const known = new Map(minutes.map((row) => [row.service, row]));
  const p95 = {name: "p95, last hour", cell: (row) => {
    const own = known.get(row.service);
    return own ? sparkline(`p95 of ${row.service}`, own.p95_ms, {unit: " ms", kind: "is-busy"}) : "–";
  }};
  const numbers = numberColumns(known);
  return h("div", {}, h("h1", {}, "Services"),
    dense("Calls of the last minute or two", table("Services", [
      {name: "service", cell: (row) => row.service},
      {name: "state", cell: stateOf},
      ...numbers.slice(0, 1),
      {name: "p50", number: true, cell: (row) => (row.p50_ms === null ? "–" : duration(row.p50_ms))},
      ...numbers.slice(1, 4), p95, ...numbers.slice(4),
      {name: "last failure", cell: (row) => h("span", {class: row.state === "serving" ? "soft" : null}, lastFailure(row) || "none")},
    ], services, {empty: "No workflow is loaded, and no agent has reported.", key: (row) => row.service})),
    services.length > 0 && dense("Settings", table("Settings", [
      {name: "service", cell: (row) => row.service},
      {name: "limits", cell: settings},
      {name: "calls under way", number: true, cell: (row) => `${number(row.in_flight)} of ${number(row.capacity)}`},
      {name: "agents", cell: (row) => `${number(row.agents)} reporting, ${number(row.obeying)} with the current settings`},
      ...(mayAct() ? [{name: "change", cell: buttons}] : []),
    ], services, {key: (row) => row.service})),
    agents.length > 0 && h("section", {class: "panel"}, h("details", {}, h("summary", {}, plural(agents.length, "agent", "agents")), table("Agents", [
      {name: "agent", cell: (row) => h("span", {class: "id"}, row.instance)},
      {name: "service", cell: (row) => row.service},
      {name: "breaker", cell: (row) => badge(row.breaker)},
      {name: "ready", cell: (row) => (row.is_ready ? "yes" : "no")},
      {name: "calls", number: true, cell: (row) => `${number(row.in_flight)} of ${number(row.concurrency)}`},
      {name: "reason", cell: (row) => row.reason ?? ""},
      {name: "reported", cell: (row) => `${duration(row.age_ms)} ago`},
    ], agents, {key: (row) => `${row.service}/${row.instance}`}))));
}

export async function show({main}) {
  morph(main, draw(await get("services")));
  const timer = setInterval(async () => {
    if (document.hidden) return;
    try {
      morph(main, draw(await get("services")));
      trouble("");
    } catch (error) {
      trouble(`This page is out of date: ${error.message}.`);
    }
  }, AGAIN_MS);
  return () => clearInterval(timer);
}
