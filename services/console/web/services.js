// Remote services: their state, the operator settings, and the agents' reports.
import {h, badge, duration, number, panel, table, when} from "/dom.js";
import {get, mayAct, post} from "/api.js";
import {go} from "/app.js";
import {actButton} from "/act.js";

function limits(service) {
  const wanted = [service.concurrency && `${number(service.concurrency)} concurrent calls`, service.rate_per_s && `${number(service.rate_per_s)} calls per second`].filter(Boolean);
  return wanted.length > 0 ? `${wanted.join(", ")}, over all agents` : "as set in the agents' service files";
}
const again = () => go("/services", {keepsFocus: true});

function buttons(service) {
  const send = (verb) => (reason, fields) => post(`services/${encodeURIComponent(service.service)}/${verb}`, {reason, version: Number(service.version), ...fields});
  return h("p", {class: "row"},
    service.state === "paused"
      ? actButton("Resume", {title: `Resume service ${service.service}`, text: "Its agents call it again, and its waiting steps continue.", act: send("resume"), done: again})
      : actButton("Pause", {title: `Pause service ${service.service}`, text: "Its agents stop calling it; calls under way end. Its steps wait without using attempts, but the deadlines of the orders still apply.",
        fields: [{name: "for", label: "duration (10m, 2h); empty: until it is resumed"}], act: send("pause"), done: again}),
    actButton("Limit", {title: `Limit service ${service.service}`, text: "The limits apply to all its agents together. No agent exceeds the limits of its service file.",
      fields: [{name: "concurrency", label: "concurrent calls; none: no limit; empty: unchanged"}, {name: "rate", label: "calls per second; none: no limit; empty: unchanged"}],
      act: send("limit"), done: again}));
}

function serviceShow(service, agents) {
  return h("section", {class: "panel", "data-key": service.service},
    h("div", {class: "head"}, h("h2", {}, service.service), badge(service.state)),
    h("dl", {class: "facts"},
      h("dt", {}, "agents"), h("dd", {}, `${number(service.agents)} reporting, ${number(service.obeying)} with the current settings`),
      h("dt", {}, "calls under way"), h("dd", {}, number(service.in_flight)),
      h("dt", {}, "limits"), h("dd", {}, limits(service)),
      service.by_whom && [h("dt", {}, "set by"), h("dd", {}, `${service.by_whom}: ${service.reason} `, when(service.set_at))],
      service.paused_until && [h("dt", {}, "paused until"), h("dd", {}, when(service.paused_until))]),
    h("details", {}, h("summary", {}, "Agents"), table(`Agents of ${service.service}`, [
      {name: "agent", cell: (row) => h("span", {class: "id"}, row.instance)},
      {name: "breaker", cell: (row) => badge(row.breaker)},
      {name: "ready", cell: (row) => (row.is_ready ? "yes" : "no")},
      {name: "calls", number: true, cell: (row) => `${number(row.in_flight)} of ${number(row.concurrency)}`},
      {name: "reason", cell: (row) => row.reason ?? ""},
      {name: "reported", cell: (row) => `${duration(row.age_ms)} ago`},
    ], agents, {empty: "No agent has reported.", key: (row) => row.instance})),
    mayAct() && buttons(service));
}

export async function show({main}) {
  const {services, agents} = await get("services");
  main.append(h("h1", {}, "Services"), services.length === 0 ? panel("None", h("p", {class: "soft"}, "No workflow is loaded, and no agent has reported."))
    : h("div", {}, services.map((service) => serviceShow(service, agents.filter((agent) => agent.service === service.service)))));
}
