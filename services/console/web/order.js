// One order: its three lines, its picture, its steps, its time as bars, its story, and all stored data.
import {h, badge, bytes, duration, fact, kindOf, moments, number, now, panel, plural, say, table, when, words} from "/dom.js";
import {get} from "/api.js";
import {lively, trouble, watch} from "/app.js";
import {orderActs} from "/order_acts.js";
import {FOR_GATE, RUNS, called, folded} from "/rounds.js";
import {graphShow} from "/graph.js";

const EVENTS_SHOWN = 200; // the newest events of a long story; the rest on demand
const AGAIN_MS = 1000;
const ENDED = ["processed", "compensated", "cancelled"];
const VERDICTS = {error: "is-bad", processed: "", compensated: "is-over", cancelled: "is-over"};

// ---- the order's time ----

/** The states of each step by its transitions: [{step, service, spans: [{state, end, from, to, attempt}]}]; `end`: the outcome of a run. */
function tracks(dossier, end) {
  const byStep = new Map(dossier.steps.map((step) => [step.step, {step: step.step, service: step.service, state: step.state, spans: []}]));
  for (const event of dossier.events) {
    const at = Date.parse(event.at);
    for (const change of event.transitions ?? []) {
      const track = change.step && byStep.get(change.step);
      if (!track) continue;
      const last = track.spans.at(-1);
      if (last && last.to === null) last.to = at;
      const isOver = ["done", "undone", "skipped", "failed", "undo_failed"].includes(change.to);
      if (isOver && RUNS.includes(last?.state)) last.end = change.to;
      track.spans.push({state: change.to, from: at, to: isOver ? at : null, attempt: change.attempt, reason: change.reason});
    }
  }
  for (const track of byStep.values()) for (const span of track.spans) span.to ??= end;
  return [...byStep.values()];
}

function timeline(dossier) {
  const {order} = dossier;
  const begin = Date.parse(order.created_at);
  const isStill = ENDED.includes(order.state) || (order.state === "error" && !order.wake_at);
  const end = Math.max(isStill ? Date.parse(order.updated_at) : now(), begin + 1);
  const all = tracks(dossier, end);
  if (all.length === 0) return null;
  const share = (ms) => `${Math.min(100, Math.max(0, 100 * ms / (end - begin)))}%`;
  return panel("Timeline", h("ol", {class: "track-list"}, all.map((track) => h("li", {"data-key": track.step},
    h("span", {}, track.step, " ", badge(track.state)),
    h("span", {class: "track", role: "img", "aria-label": track.spans.map((span) => `${words(span.state)} for ${duration(span.to - span.from)}`).join(", ") || "not started"},
      track.spans.map((span) => {
        const bar = h("span", {class: `bar is-${kindOf(span.end ?? span.state)}`, title: `${words(span.state)}${span.end ? `, then ${words(span.end)}` : ""}${span.attempt ? `, attempt ${span.attempt}` : ""}: ${duration(span.to - span.from)}`});
        bar.style.setProperty("--from", share(span.from - begin));
        bar.style.setProperty("--size", share(span.to - span.from));
        return bar;
      }))))),
  h("div", {class: "scale"}, h("span", {}, when(order.created_at)), h("span", {}, `${duration(end - begin)}${isStill ? "" : " so far"}`)));
}

// ---- its story ----

function changeLine(change) {
  return h("li", {}, change.step ? h("strong", {}, change.step) : "order", ` ${words(change.from)} → `, badge(change.to),
    change.kind && ["running", "undo_running"].includes(change.to) ? ` ${change.kind}, attempt ${change.attempt}` : "",
    change.reason && change.reason !== "none" ? `: ${words(change.reason)}` : "", change.due_at ? [", until ", when(change.due_at)] : "");
}

function eventLine(event) {
  return h("li", {"data-key": event.version}, when(event.at, {ms: true}), h("div", {},
    h("strong", {}, words(event.cause_kind)), event.step ? ` of step ${event.step}${event.attempt > 0 ? `, attempt ${event.attempt}` : ""}` : "",
    event.reason ? `: ${event.reason}` : "", h("span", {class: "soft"}, ` by ${event.by_whom}`),
    h("ul", {}, (event.transitions ?? []).map(changeLine),
      (event.statuses ?? []).map((status) => h("li", {class: "sent-status"}, `status to client: ${words(status.status)}${status.step ? ` ${status.step}` : ""} (${status.seq})${event.owed ? ", not yet delivered" : ""}${event.given_up_at ? ", given up: its queue did not accept it" : ""}`)))));
}

function roundsLine({rounds}) {
  const first = rounds[0][0], last = rounds.at(-1).at(-1), failed = called(rounds);
  return h("li", {"data-key": first.version}, when(first.at, {ms: true}), h("div", {},
    h("strong", {}, "waited"), ` ${duration(Date.parse(last.at) - Date.parse(first.at))} in step ${first.step}, ${number(rounds.length)} checks: ${words(last.transitions[0].reason)}`,
    h("span", {class: "soft"}, ` attempts ${first.transitions[0].attempt} to ${rounds.at(-1)[0].transitions[0].attempt}${failed.length > 0 ? `, ${number(failed.length)} failed: ${failed[0][1].reason}` : ""}`)));
}

/** The events of each step, and of the order alone: [[name, events]], in the order of the first event of each. */
function chapters(events) {
  const byName = new Map();
  for (const event of events) {
    const names = new Set([event.step, ...(event.transitions ?? []).map((change) => change.step)].filter(Boolean));
    for (const name of names.size > 0 ? names : [""]) {
      if (!byName.has(name)) byName.set(name, []);
      byName.get(name).push(event);
    }
  }
  return [...byName];
}

const entryLine = (entry) => (entry.rounds ? roundsLine(entry) : eventLine(entry));

/** One line for a step: its events, the time that they span, and the newest; it opens to all of them. */
function chapter([name, events]) {
  const first = events[0], last = events.at(-1), runs = events.flatMap((event) => event.transitions ?? []).filter((change) => change.step === name && RUNS.includes(change.to)).length;
  const newest = (last.transitions ?? []).filter((change) => !name || change.step === name).at(-1);
  return h("details", {"data-key": name, class: "chapter"}, h("summary", {}, h("strong", {}, name || "order"), " ", newest && badge(newest.to),
    ` ${plural(events.length, "event", "events")}${runs > 0 ? `, ${plural(runs, "request", "requests")}` : ""} ${events.length > 1 ? `in ${duration(Date.parse(last.at) - Date.parse(first.at))}, the last at` : "at"} `, when(last.at)),
    h("ol", {class: "story"}, folded(events).map(entryLine)));
}

function story(dossier, shown, redraw) {
  const left = dossier.events.length - shown.events;
  const older = dossier.left_out.events, events = dossier.events.slice(left > 0 ? left : 0);
  return panel("History", left > 0 && h("p", {}, h("button", {type: "button", onclick: () => { shown.events = Infinity; redraw(); }}, `Show the ${plural(left, "earlier event", "earlier events")}`)),
    older > 0 && h("p", {class: "soft"}, `${plural(older, "earlier event is", "earlier events are")} omitted.`),
    chapters(events).map(chapter),
    h("details", {"data-key": "by time", class: "chapter"}, h("summary", {}, `All ${plural(events.length, "event", "events")} by time`), h("ol", {class: "story"}, folded(events).map(entryLine))));
}

// ---- stored data ----

/** As the policy counts them; the requests are more if some found no service, or asked only. */
function attemptsOf(row) {
  if (row.attempts_allowed === null) return number(row.attempt);
  return h("span", {class: "whole"}, `${number(row.attempts_counted)} of ${number(row.attempts_allowed)}`,
    Number(row.attempt) > row.attempts_counted && h("span", {class: "soft"}, `, ${plural(row.attempt, "request", "requests")}`));
}

/** A failure that the reason has already, or, of a step that is over, that no call was made for a while. */
const isUntold = (row) => (row.why !== null && row.why === row.error_text) || row.error_code === "result_unreadable"
  || (["done", "undone"].includes(row.state) && ["breaker_open", "service_paused"].includes(row.error_code));

/** Its requests, as they went out or would go out now, and the answers to them. */
function callsShow({step, service, requests, attempts}, close) {
  return panel(`Requests of step ${step}`,
    h("p", {class: "soft"}, `The address (URL) and secret headers are those of the service file of ${service}. Its agent also adds X-Makegood-…, Accept, Accept-Encoding, User-Agent, traceparent and a signature to each call.`),
    requests.map((request) => h("details", {"data-key": request.kind, open: true}, h("summary", {}, h("strong", {}, request.kind), " ", h("code", {}, request.fault ? `cannot be built: ${request.fault}` : `${request.method} ${request.path}`),
      request.is_proved === true && " these bytes have gone out", request.is_proved === false && " other bytes have gone out under this key"),
    !request.fault && [h("dl", {class: "facts"}, fact("key", h("span", {class: "id"}, request.idempotency_key)),
      fact("headers", request.headers && Object.entries(request.headers).map(([name, value]) => h("div", {}, h("code", {}, `${name}: ${value}`))))),
      request.body !== null && bytes(`body of ${request.kind}`, request.body),
      h("p", {}, h("button", {type: "button", onclick: () => copy(request.curl)}, "Copy as curl"))])),
    table("Attempts", [
      {name: "sent", cell: (row) => when(row.sent_at, {ms: true})},
      {name: "request", cell: (row) => `${row.kind}, attempt ${row.attempt}`},
      {name: "took", cell: (row) => (row.took_ms === null ? "no answer yet" : duration(row.took_ms))},
      {name: "then", cell: (row) => [badge(row.state), row.answer && ` ${row.answer}`]},
    ], attempts, {empty: "No request has gone out.", key: (row) => row.attempt}),
    h("p", {}, h("button", {type: "button", onclick: close}, "Close")));
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say("copied");
  } catch {
    window.prompt("Copy this command:", text); // no clipboard without TLS
  }
}

function stepsShow(data, openCalls) {
  return panel("Steps", table("Steps", [
    {name: "step", cell: (row) => row.step},
    {name: "state", cell: (row) => [badge(row.state), row.maybe && row.state !== "done" && " may have been executed"]},
    {name: "service", cell: (row) => row.service},
    {name: "attempts", number: true, cell: attemptsOf},
    {name: "reason", cell: (row) => [row.why ? moments(row.why) : (row.reason === "none" ? "" : words(row.reason)),
      row.due_at && !FOR_GATE.includes(row.reason) && row.reason !== "awaiting_signal" && [" until ", when(row.due_at)]]},
    {name: "last failure", cell: (row) => isUntold(row) || (!row.error_code && !row.error_text && !row.error_body) ? "" : [row.error_code && h("code", {}, row.error_code), " ", row.error_text ?? "", row.error_message ? `: ${row.error_message}` : "",
      row.error_body && h("details", {}, h("summary", {}, "answer"), bytes(`answer to ${row.step}`, row.error_body))]},
    {name: "requests", cell: (row) => row.service && Number(row.attempt) > 0 && h("button", {type: "button", onclick: () => openCalls(row.step), "aria-label": `Requests of step ${row.step}`}, "Requests")},
    {name: "result", cell: (row) => (row.result === null ? row.unreadable && `cannot be read: ${row.unreadable}` : h("details", {}, h("summary", {}, "show"), bytes(`result of ${row.step}`, row.result)))},
  ], data.steps, {empty: "No step has started.", key: (row) => row.step, id: (row) => `step-${row.step}`}));
}

/** Each label is a link to all orders that have it. */
function labelLinks(labels) {
  const pairs = Object.entries(labels ?? {}).map(([name, value]) => `${name}=${value}`);
  return pairs.length > 0 && h("ul", {class: "labels"}, pairs.map((pair) => h("li", {"data-key": pair}, h("a", {href: `/orders?${new URLSearchParams({label: pair})}`}, pair))));
}

function factsShow({order, labels}, line) {
  return panel("Details", h("dl", {class: "facts"}, fact("labels", labelLinks(labels)), fact("line", line),
    fact("workflow", `${order.workflow}, version ${order.workflow_version}`), fact("goal", words(order.goal)),
    fact("created", when(order.created_at)), fact("updated", when(order.updated_at)), fact("complete by", when(order.complete_by)),
    fact("next check", when(order.wake_at)), fact("version", number(order.version)), fact("generation", order.generation > 0 && number(order.generation)),
    fact("priority", order.is_high ? "high" : "normal"), fact("client", order.client), fact("reply queue", order.reply_to), fact("correlation", order.correlation_id && h("span", {class: "id"}, order.correlation_id)),
    fact("written by", h("span", {class: "id"}, order.locked_by)), fact("trace", order.traceparent && h("span", {class: "id"}, order.traceparent))));
}

function bytesShow(data) {
  const {dossier} = data;
  return h("section", {class: "panel"}, h("h2", {}, "Stored data"),
    data.output && h("details", {open: true}, h("summary", {}, "Output"), bytes("output", data.output)),
    h("details", {}, h("summary", {}, dossier.order.revision > 1 ? `Payload as received, revision ${dossier.order.revision}` : "Payload as received"), bytes("payload", data.payload)),
    dossier.workflow && h("details", {}, h("summary", {}, `Definition of ${dossier.workflow.name} ${dossier.workflow.version}`), bytes("definition", data.definition)),
    dossier.alerts.length > 0 && h("details", {open: dossier.alerts.some((alert) => !alert.closed_at)}, h("summary", {}, plural(dossier.alerts.length, "alert", "alerts")), table("Alerts", [
      {name: "alert", cell: (row) => badge(row.code, row.closed_at ? "over" : "bad")}, {name: "message", cell: (row) => row.text},
      {name: "opened", cell: (row) => when(row.opened_at)}, {name: "acknowledged by", cell: (row) => row.acked_by ?? ""}, {name: "closed", cell: (row) => when(row.closed_at)},
    ], dossier.alerts)),
    h("p", {}, h("a", {class: "button", href: `/api/v1/orders/${encodeURIComponent(dossier.order_id)}`, download: `order-${dossier.order_id}.json`}, "Download as JSON")));
}

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}`;

const ANSWER = "its answer: "; // the note with the bytes that the reason has in words

/** Three lines: the present step; since when and why; the next request. Further facts follow. */
function verdict({what, since, why, next, notes}) {
  const answers = notes.filter((note) => note.startsWith(ANSWER)), told = notes.filter((note) => !note.startsWith(ANSWER));
  return [h("p", {class: "what"}, moments(`${sentence(what)}.`)),
    h("p", {class: "why"}, since && moments(`Since ${since}: `), moments(`${since ? why : sentence(why)}.`)),
    h("p", {class: "next"}, h("strong", {}, "Next: "), moments(`${next}.`)),
    told.length > 0 && h("ul", {class: "notes"}, told.map((note) => h("li", {}, moments(note)))),
    answers.map((note) => h("details", {"data-key": "answer"}, h("summary", {}, "Answer of the service"), bytes("answer of the service", note.slice(ANSWER.length))))];
}

function draw(data, orderId, shown, {again, redraw}) {
  const {order} = data.dossier;
  const callsClose = () => {
    shown.calls = null;
    redraw();
  };
  const callsOpen = async (step) => {
    try {
      shown.calls = await get(`calls/${encodeURIComponent(orderId)}?${new URLSearchParams({step})}`);
      redraw();
    } catch (error) {
      trouble(`The requests of ${step} cannot be shown: ${error.message}.`);
    }
  };
  return [
    h("div", {class: "head"}, h("h1", {}, "Order ", h("span", {class: "id"}, orderId)), badge(order.state)),
    h("section", {class: `panel verdict ${VERDICTS[order.state] ?? "is-wait"}`}, verdict(data.explanation),
      data.steps.some((step) => step.reason === "awaiting_signal") && h("p", {}, h("a", {class: "button first", href: `/waiting/${encodeURIComponent(orderId)}`}, "Answer")),
      orderActs(data, orderId, again)),
    graphShow(data.graph, data.steps, data.dossier.events), stepsShow(data, callsOpen), shown.calls && callsShow(shown.calls, callsClose),
    timeline(data.dossier), story(data.dossier, shown, redraw), factsShow(data.dossier, data.line), bytesShow(data),
  ];
}

export async function show({main, path}) {
  const orderId = decodeURIComponent(path.slice("/orders/".length)), shown = {events: EVENTS_SHOWN, calls: null};
  let announced = 0, timer = null; // the newest version of the stream's events; an answer may be an older one that the console kept
  const page = await lively(main, () => get(`orders/${encodeURIComponent(orderId)}`),
    (data, again) => draw(data, orderId, shown, {again, redraw: () => page.draw()}),
    ({dossier: {order: before}}, {dossier: {order: after}}) => (before.state === after.state ? "" : `the order is now ${words(after.state)}`));
  const follow = async () => {
    clearTimeout(timer);
    await page.again();
    if (announced > page.data.dossier.order.version) timer = setTimeout(follow, AGAIN_MS);
  };
  const end = watch({order: orderId}, {
    order: ({version}) => {
      announced = version;
      if (announced !== page.data.dossier.order.version) follow();
    },
  });
  return () => { page.stop(); clearTimeout(timer); end(); };
}
