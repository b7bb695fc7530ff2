// The acts of an operator about one order: about all of it, one of its steps, or its payload. By the core's judgement the
// order would take each of them now.
import {h, badge, plural} from "/dom.js";
import {commandIdMake, mayAct, post} from "/api.js";
import {actButton, copyShow} from "/act.js";
import {jsonDiff, jsonRead, jsonWrite} from "/json_text.js";
import {clientText, incidentOfOrder} from "/report_text.js";

const SETS_MAX = 16; // repairs in one resume

const ACTS = [
  {verb: "resume", name: "Resume", states: ["error"], isFirst: true, text: "The failed step is retried with new attempts."},
  {verb: "restart", name: "Restart", states: ["error", "compensated", "cancelled"], text: "The order starts again at its first step, with new idempotency keys."},
  {verb: "compensate", name: "Compensate", states: ["pending", "processing", "processed", "error"], isHarm: true, text: "Every step that was or may have been executed is undone, in reverse order."},
  {verb: "cancel", name: "Cancel", states: ["pending", "processing", "error"], isHarm: true, text: "Every step that was or may have been executed is undone, and the client receives the status cancelled."},
  {verb: "release", name: "Release line", states: ["error"], isAsked: true, text: "The next order in line begins, although this one is in error. This one keeps its error, and may be resumed alongside others of its key."},
];

/** Sends a verb; the same for a second click of one dialog, so the command has one effect. */
function sender(order, orderId, verb) {
  const commandId = commandIdMake();
  return (reason, fields = {}) => post(`orders/${encodeURIComponent(orderId)}/${verb}`, {reason, version: order.version, command_id: commandId, ...fields});
}

// ---- the payload's repair ----

function changesShow(changes) {
  return h("ul", {class: "diff"}, changes.map(({pointer, before, after}) => h("li", {}, h("code", {}, pointer), " ",
    before === null ? h("ins", {}, `+ ${after}`) : [h("del", {}, `− ${before}`), " ", h("ins", {}, `+ ${after}`)])));
}

/** {content, isReady, set} of an edited payload. */
function repairOf(payload, text) {
  let changes;
  try {
    changes = jsonDiff(jsonRead(payload), jsonRead(text));
  } catch (error) {
    return {isReady: false, content: h("p", {class: "failed"}, `Not JSON: ${error.message}.`)};
  }
  if (changes.length === 0) return {isReady: false, content: h("p", {class: "soft"}, "Nothing is changed yet.")};
  if (changes.some(({pointer}) => pointer === "")) {
    return {isReady: false, content: h("p", {class: "failed"}, "A member of the payload itself cannot be removed; give it another value, such as null.")};
  }
  if (changes.length > SETS_MAX) return {isReady: false, content: h("p", {class: "failed"}, `At most ${SETS_MAX} values can be changed in one resume.`)};
  return {isReady: true, content: [h("p", {class: "soft"}, `${plural(changes.length, "value changes", "values change")}:`), changesShow(changes)],
    set: `{${changes.map(({pointer, after}) => `${JSON.stringify(pointer)}:${after}`).join(",")}}`};
}

function repairButton(order, orderId, payload, again) {
  const send = sender(order, orderId, "resume");
  return actButton("Repair and resume", {title: `Repair and resume: order ${orderId}`,
    text: "The order gets the payload below, as a new revision, and its failed step is retried. A repair that would change the undo of an executed step is refused.",
    fields: [{name: "payload", label: "Payload", rows: 12, value: jsonWrite(jsonRead(payload), 2)}],
    preview: (fields) => repairOf(payload, fields.payload ?? ""),
    act: (reason, fields) => send(reason, {set: repairOf(payload, fields.payload).set}), done: again});
}

// ---- one step ----

const ABSENT = {failed: "it fails, and its request is not sent again", undone: "it needs no undo any more", skipped: "it stays skipped"}; // by its state then

function settleButton(order, orderId, step, absent, again) {
  const send = sender(order, orderId, "settle");
  const then = absent === undefined ? "refused now" : ABSENT[absent] ?? "its request is sent again when the order goes on";
  return actButton("Settle", {title: `Settle step ${step}`, text: `You record the outcome of the step, as you know it from the service. Done: it counts as executed, and is undone if the order turns back. Absent: ${then}.`,
    fields: [{name: "outcome", label: "outcome", choices: [["done", "done: it took effect"], ["absent", "absent: it had no effect"]]},
      {name: "result", label: "result of a step that is done (JSON), if its undo or later steps refer to it", rows: 3}],
    act: (reason, {outcome, result}) => send(reason, {step, outcome, ...(outcome === "done" && result ? {result} : {})}), done: again});
}

function skipButton(order, orderId, step, again) {
  const send = sender(order, orderId, "skip");
  return actButton("Skip", {title: `Skip step ${step}`, text: "The order goes on without this step and the steps that need it. If it may have been executed, it is still undone when the order turns back.",
    act: (reason) => send(reason, {step}), done: again});
}

function repeatButton(order, orderId, step, again) {
  const send = sender(order, orderId, "resume");
  return actButton("Do again", {isHarm: true, title: `Do step ${step} again`, text: "The request goes out once more under its key, although it may have been executed; a failed undo goes out under another key.",
    act: (reason) => send(reason, {repeat: step}), done: again});
}

/** The buttons of one step; null: there is none. */
function stepActs(data, step, orderId, again) {
  const {verbs, dossier: {order}} = data;
  const has = (verb) => (verbs?.[verb] ?? []).includes(step);
  const buttons = [has("settle") && settleButton(order, orderId, step, verbs.absent?.[step], again), has("skip") && skipButton(order, orderId, step, again),
    has("repeat") && repeatButton(order, orderId, step, again)].filter(Boolean);
  return mayAct() && data.archived_on === "" && buttons.length > 0 ? h("span", {class: "row"}, buttons) : null;
}

function stepsActs(data, orderId, again) {
  const rows = data.steps.map((step) => [step, stepActs(data, step.step, orderId, again)]).filter(([, buttons]) => buttons !== null);
  return rows.length > 0 && h("ul", {class: "step-acts"}, rows.map(([step, buttons]) => h("li", {"data-key": step.step},
    h("span", {}, "Step ", h("strong", {}, step.step), " ", badge(step.state)), buttons)));
}

// ---- all of it ----

function signalButton(order, orderId, again) {
  const commandId = commandIdMake();
  return actButton("Send signal", {title: `Send a signal: order ${orderId}`, text: "A step that waits for the signal receives it, now or when it comes to wait.",
    fields: [{name: "signal", label: "name of the signal", required: true, autocapitalize: "off", spellcheck: "false"}, {name: "payload", label: "Payload (JSON)", rows: 3, value: "true"}],
    act: (reason, {signal, payload}) => post(`orders/${encodeURIComponent(orderId)}/signal`, {reason, signal, payload: payload ?? "null", command_id: commandId}), done: again});
}

function finishButton(order, orderId, again) {
  const send = sender(order, orderId, "resume");
  return actButton("End without output", {title: `End without output: order ${orderId}`, text: "The order ends as processed, without the output that cannot be built.",
    act: (reason) => send(reason, {without_output: "yes"}), done: again});
}

/** All acts of an order, for its page. */
export function orderActs(data, orderId, again) {
  const {verbs, dossier: {order}} = data;
  if (!mayAct()) return null;
  const isOpen = ["pending", "processing", "compensating"].includes(order.state);
  const texts = h("p", {class: "row"}, h("button", {type: "button", onclick: () => copyShow("Text for the client", clientText(data, orderId))}, "Text for the client"),
    h("button", {type: "button", onclick: () => copyShow("Incident report", incidentOfOrder(data, orderId))}, "Incident report"));
  if (data.archived_on !== "") return texts;
  return h("div", {class: "acts"}, h("p", {class: "row"},
    ACTS.filter((act) => act.states.includes(order.state) && (verbs ? verbs[act.verb] : !act.isAsked)).map((act) => {
      const send = sender(order, orderId, act.verb);
      return actButton(act.name, {...act, title: `${act.name}: order ${orderId}`, act: (reason) => send(reason), done: again});
    }),
    order.state === "error" && data.payload && repairButton(order, orderId, data.payload, again),
    verbs?.finish && finishButton(order, orderId, again), isOpen && signalButton(order, orderId, again)),
  stepsActs(data, orderId, again), texts);
}
