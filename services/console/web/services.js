// Remote services: since when they fail, how quickly they answer, the operator settings, and the agents' reports.
import {h, age, ago, badge, duration, number, plural, table, when} from "/dom.js";
import {get, mayAct, post} from "/api.js";
import {lively, reload} from "/app.js";
import {actButton} from "/act.js";
import {sparkline} from "/charts.js";

const AGAIN_MS = 5000; // as often as agents report


function buttons(service) {
  const send = (verb) => (reason, fields) => post(`services/${encodeURIComponent(service.service)}/${verb}`, {reason, version: Number(service.version), ...fields});
  return h("div", {class: "row"},
    service.state === "paused"
      ? actButton("Resume", {title: `Resume service ${service.service}`, text: "Its agents call it again, and its waiting steps continue.", act: send("resume"), done: reload})
      : actButton("Pause", {title: `Pause service ${service.service}`, text: "Its agents stop calling it; calls under way end. Its steps wait without using attempts, but the deadlines of the orders still apply.",
        fields: [{name: "for", label: "duration (10m, 2h); empty: until it is resumed"}], act: send("pause"), done: reload}),
    actButton("Limit", {title: `Limit service ${service.service}`, text: "The limits apply to all its agents together. No agent exceeds the limits of its service file.",
      fields: [{name: "concurrency", label: "concurrent calls; none: no limit; empty: unchanged"}, {name: "rate", label: "calls per second; none: no limit; empty: unchanged"}],
      act: send("limit"), done: reload}));
}

const waitingLink = (service) => (Number(service.waiting) === 0 ? "0"
  : h("a", {href: `/orders?${new URLSearchParams({waits_for: service.service})}`}, `${number(service.waiting)}${Number(service.waiting) === 10000 ? " or more" : ""}`));

export const stateOf = (service) => h("span", {class: "whole"}, badge(service.state), service.since && [" for ", age(service.since)]);

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
export const lastFailure = (row) => row.error_code && [`${row.error_code}: ${row.error_text}, `, ago(row.error_at), row.probe_at && ["; next probe ", ago(row.probe_at)]];

/** The settings of an operator, and whether all agents have them; nothing for a service without any. */
function settings(row) {
  const limits = [row.concurrency && `${number(row.concurrency)} concurrent calls`, row.rate_per_s && `${number(row.rate_per_s)} calls per second`].filter(Boolean);
  const lines = [
    limits.length > 0 && `At most ${limits.join(", ")}, over all agents`,
    row.by_whom && [`${row.by_whom}: ${row.reason}, `, ago(row.set_at), row.paused_until && ["; paused until ", when(row.paused_until)]],
    row.obeying !== row.agents && `${number(row.obeying)} of ${plural(row.agents, "agent has", "agents have")} the current settings`,
  ];
  return lines.filter(Boolean).map((line) => h("div", {class: "soft"}, line));
}

function draw({services, agents, minutes}) {
  const known = new Map(minutes.map((row) => [row.service, row]));
  const p95 = {name: "p95, last hour", cell: (row) => {
    const own = known.get(row.service);
    return own ? sparkline(`p95 of ${row.service}`, own.p95_ms, {unit: " ms", kind: "is-busy"}) : "–";
  }};
  const [calls, ...others] = numberColumns(known);
  return [h("h1", {}, "Services"),
    h("section", {class: "panel dense"}, h("h2", {}, "Calls of the last minute or two"), table("Services", [
      {name: "service", cell: (row) => row.service},
      {name: "state", wide: true, cell: (row) => [stateOf(row), settings(row)]},
      calls,
      {name: "p50", number: true, cell: (row) => (row.p50_ms === null ? "–" : duration(row.p50_ms))},
      ...others.slice(0, 3), p95, ...others.slice(3),
      {name: "last failure", wide: true, cell: (row) => h("span", {class: row.state === "serving" ? "soft" : null}, lastFailure(row) || "none")},
      ...(mayAct() ? [{name: "change", cell: buttons}] : []),
    ], services, {empty: "No workflow is loaded, and no agent has reported.", key: (row) => row.service})),
    agents.length > 0 && h("section", {class: "panel"}, h("details", {}, h("summary", {}, plural(agents.length, "agent", "agents")), table("Agents", [
      {name: "agent", cell: (row) => h("span", {class: "id"}, row.instance)},
      {name: "service", brief: true, cell: (row) => row.service},
      {name: "breaker", brief: true, cell: (row) => badge(row.breaker)},
      {name: "ready", brief: true, cell: (row) => (row.is_ready ? "yes" : "no")},
      {name: "calls under way", number: true, cell: (row) => `${number(row.in_flight)} of ${number(row.concurrency)}`},
      {name: "reason", cell: (row) => row.reason ?? ""},
      {name: "reported", brief: true, cell: (row) => `${duration(row.age_ms)} ago`},
    ], agents, {key: (row) => `${row.service}/${row.instance}`})))];
}

export async function show({main}) {
  const page = await lively(main, () => get("services"), draw);
  const timer = setInterval(() => document.hidden || page.again(), AGAIN_MS);
  return () => { page.stop(); clearInterval(timer); };
}
