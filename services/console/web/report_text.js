// Texts to take along: a report of an incident in Markdown, and a text for a client in plain words.
import {duration, plural, words} from "/dom.js";

const ORDERS_LISTED = 20;

const utc = (iso) => (iso ? `${iso.slice(0, 19).replace("T", " ")} UTC` : "");

/** The failed step with the words of its service. */
function failureOf(steps) {
  const failed = steps.find((step) => ["failed", "undo_failed", "unknown"].includes(step.state)) ?? steps.find((step) => step.error_message || step.error_text);
  return failed && {step: failed.step, service: failed.service, code: failed.error_code, text: failed.error_message || failed.error_text || words(failed.reason)};
}

const actLine = (act) => `- ${utc(act.at)} ${act.by_whom}: ${act.verb} ${act.subject}: ${act.reason}`;

/** The report of one cause. `orders`: failures of the cause; `actions`: acts since its begin. */
export function incidentOfCause({cause, orders, actions, services}) {
  const service = services.find((each) => each.service === cause.service);
  return [
    `# Incident: ${cause.error ?? words(cause.code)}${cause.step ? ` at step ${cause.step}` : ""}${cause.workflow ? ` of ${cause.workflow}` : ""}`, "",
    `- orders: ${cause.count}`, `- since: ${utc(cause.oldest)}`, cause.newest && `- last: ${utc(cause.newest)}`,
    service && `- service: ${service.service}, ${service.state}`,
    cause.text && `- message: ${cause.text}`, cause.acked_by && `- known: ${cause.acked_by} (${utc(cause.acked_at)})`, "",
    "## Orders", "", ...orders.slice(0, ORDERS_LISTED).map((row) => `- ${row.order_id}, since ${utc(row.opened_at)}`),
    cause.count > ORDERS_LISTED && `- and ${cause.count - ORDERS_LISTED} more`, "",
    "## Acts of operators", "", ...(actions.length > 0 ? [...actions].reverse().map(actLine) : ["- none"]), "",
  ].filter((line) => line !== undefined && line !== null && line !== false && line !== "undefined").join("\n");
}

/** The report of one order, with each act in its story. */
export function incidentOfOrder(data, orderId) {
  const {order, events, alerts} = data.dossier, failure = failureOf(data.steps);
  const byPeople = events.filter((event) => event.reason && ["resume", "restart", "settle", "skip", "compensate", "cancel", "release", "signal"].includes(event.cause_kind));
  return [
    `# Order ${orderId}`, "", `- workflow: ${order.workflow} ${order.workflow_version}`, `- state: ${order.state}`, `- accepted: ${utc(order.created_at)}`, `- last change: ${utc(order.updated_at)}`,
    failure && `- failure: step ${failure.step}, service ${failure.service}: ${[failure.code, failure.text].filter(Boolean).join(": ")}`, `- ${data.explanation.what}`, data.explanation.since ? `- since ${data.explanation.since}: ${data.explanation.why}` : `- ${data.explanation.why}`, `- next: ${data.explanation.next}`, "",
    "## Steps", "", ...data.steps.map((step) => `- ${step.step}: ${words(step.state)}${step.attempt > 0 ? `, ${plural(step.attempt, "attempt", "attempts")}` : ""}${step.error_code ? `, ${step.error_code}` : ""}`), "",
    "## Alerts", "", ...(alerts.length > 0 ? alerts.map((alert) => `- ${utc(alert.opened_at)} ${words(alert.code)}${alert.closed_at ? ` until ${utc(alert.closed_at)}` : ", open"}: ${alert.text}`) : ["- none"]), "",
    "## Acts of operators", "", ...(byPeople.length > 0 ? byPeople.map((event) => `- ${utc(event.at)} ${event.by_whom}: ${event.cause_kind}${event.step ? ` ${event.step}` : ""}: ${event.reason}`) : ["- none"]), "",
  ].filter((line) => line !== null && line !== undefined && line !== false).join("\n");
}

/** Causes in a customer's words. Of others only the words of the service itself are for a customer. */
const CUSTOMERS_CAUSES = {
  order_expired: "it could not be finished in time", finish_expired: "it could not be finished in time", expired: "it could not be finished in time",
  timed_out: "an answer that it needs did not come in time", signal_refused: "it was not approved",
};

/** " The reason: …" of the cause that is stored with the order; "" if it says nothing to a customer. */
function customersReason({failure}, steps) {
  const own = failure?.step && steps.find((step) => step.step === failure.step)?.error_message;
  const text = CUSTOMERS_CAUSES[failure?.code] ?? (own && own === failure.text ? own.replace(/[.\s]+$/, "") : "");
  return text ? ` The reason: ${text}.` : "";
}

/** For the customer: without step names and codes, where possible. */
export function clientText(data, orderId) {
  const {order} = data.dossier, why = customersReason(order, data.steps);
  const left = data.steps.filter((step) => step.state === "done" || step.maybe).map((step) => step.step);
  const undone = left.length === 0 ? `What had been done for it was undone on ${utc(order.updated_at)}.` : `What could be undone was undone on ${utc(order.updated_at)}; this may remain: ${left.join(", ")}.`;
  const took = duration(Date.parse(order.updated_at) - Date.parse(order.created_at));
  const ends = {
    processed: `Your order ${orderId} of ${utc(order.created_at)} is complete. It took ${took}.`,
    compensated: `Your order ${orderId} of ${utc(order.created_at)} could not be carried out.${why} ${undone}`,
    cancelled: `Your order ${orderId} of ${utc(order.created_at)} was cancelled. ${undone}`,
    error: `Your order ${orderId} of ${utc(order.created_at)} is delayed.${why} We are working on it, and tell you the outcome.`,
    compensating: `Your order ${orderId} of ${utc(order.created_at)} cannot be carried out.${why} What has been done for it is being undone.`,
  };
  return ends[order.state] ?? `Your order ${orderId} of ${utc(order.created_at)} is being carried out. We tell you the outcome.`;
}
