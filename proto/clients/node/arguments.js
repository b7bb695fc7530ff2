// The checks of arguments: a value that the broker or a scheduler would refuse is refused at once. Each throws a TypeError with one line that
// names the argument.
import {Digits, writeJson} from "./json.js";

const NAME = /^[a-z][a-z0-9_-]{0,62}$/;
const ORDER_ID = /^[A-Za-z0-9._:-]{1,64}$/;
const HEADER = /^[\x20-\x7e]{1,255}$/; // a short string of the protocol
const DURATION = /^([1-9]\d{0,15})(ms|s|m|h|d)$/;
const UNITS_MS = {ms: 1, s: 1000, m: 60000, h: 3600000, d: 86400000};
const YEAR_MS = 365 * UNITS_MS.d;
const VERSION_MAX = 2 ** 31 - 1;
const BODY_MAX = 256 * 1024, LEVELS = 32, MEMBERS = 32 * 1024; // of a submission, as schedulers read it
const SIGNAL_MAX = 64 * 1024, SIGNAL_LEVELS = 31, SIGNAL_MEMBERS = 9900; // of the payload of a signal
const KEY_MAX = 256, CONTROL = /[\0-\x1f\x7f-\x9f\p{Surrogate}]/u;
export const CONCURRENCY_MAX = 65535; // the broker's prefetch has 16 bits
const WORDS = {priority: ["normal", "high"], notify: ["order", "steps"]};
const SHOWN_MAX = 80;

/** A value in a message, without characters that steer a terminal. */
const shown = (value) => typeof value === "string" ? JSON.stringify(value.slice(0, SHOWN_MAX)).replace(/[^\x20-\x7e]/gu, "?") : typeof value;

function refuse(name, rule, value) {
  throw new TypeError(`${name} is ${rule}, not ${shown(value)}`);
}

function checkText(name, value, pattern, rule) {
  if (typeof value !== "string" || !pattern.test(value)) refuse(name, rule, value);
  return value;
}

export const checkOrderId = (value) => checkText("order_id", value, ORDER_ID, 'a text of 1 to 64 characters A-Z, a-z, 0-9, ".", "_", ":", "-"');
export const checkName = (name, value) =>
  checkText(name, value, NAME, 'a text of 1 to 63 characters a-z, 0-9, "_", "-", the first a letter');
const checkSignalId = (value) => checkText("signal_id", value, ORDER_ID, 'a text of 1 to 64 characters A-Z, a-z, 0-9, ".", "_", ":", "-"');
export const checkTraceparent = (value) => checkText("traceparent", value, HEADER, "at most 255 characters of printable ASCII");

export function checkSeconds(name, value) {
  const seconds = value instanceof Digits ? Number(value) : value;
  if (typeof seconds !== "number" || !(seconds >= 0)) refuse(name, "a number of seconds from 0 on", value);
  return seconds;
}

export function checkInteger(name, value, most) {
  if (!Number.isInteger(value) || value < 1 || value > most) refuse(name, `a whole number from 1 to ${most}`, value);
  return value;
}

export function checkHandler(name, value, isOptional = true) {
  if (isOptional && (value === undefined || value === null)) return value;
  if (typeof value !== "function") refuse(name, "a function", value);
  return value;
}

export function checkOptions(value) {
  if (typeof value !== "object" || value === null) refuse("the last argument", "an object of options", value);
  return value;
}

export function checkUrl(value) {
  try {
    if (typeof value === "string" && /^amqps?:\/\/[\x21-\x7e]*$/.test(value)) return new URL(value);
  } catch { // its message would hold the password
  }
  throw new TypeError("the URL should be amqps://user:password@host:port/vhost, or amqp:// without TLS");
}

/** The members of a submission besides its workflow and payload. */
function checkMembers(members) {
  for (const [name, value] of Object.entries(members)) {
    if (value === undefined) continue;
    if (Object.hasOwn(WORDS, name)) {
      if (!WORDS[name].includes(value)) refuse(name, `one of ${WORDS[name].join(", ")}`, value);
    } else if (name === "complete_within") {
      const [, number, unit] = DURATION.exec(typeof value === "string" ? value : "") ?? [];
      if (!unit || Number(number) * UNITS_MS[unit] > YEAR_MS) refuse(name, 'a text as "15m", of a year at most', value);
    } else if (name === "workflow_version") {
      checkInteger(name, value, VERSION_MAX);
    } else {
      throw new TypeError(`submit has no option ${shown(name)}`);
    }
  }
}

/** The bytes of a submission. */
export function writeSubmission(orderId, workflow, payload, members) {
  checkOrderId(orderId);
  checkName("workflow", workflow);
  checkMembers(members);
  let body;
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) refuse("the payload", "an object", payload);
  try {
    body = writeJson({order_id: orderId, workflow, payload, ...members}, LEVELS, MEMBERS);
  } catch (error) {
    throw new TypeError(`the payload cannot be written: ${error?.message}`, {cause: error});
  }
  if (Buffer.byteLength(body) > BODY_MAX) throw new TypeError(`the payload is too large: an order has at most ${BODY_MAX} bytes`);
  return body;
}

function checkKey(value) {
  const isFit = typeof value === "string" && value !== "" && Buffer.byteLength(value) <= KEY_MAX && !CONTROL.test(value);
  if (!isFit) refuse("key", `a text of 1 to ${KEY_MAX} bytes without control characters`, value);
  return value;
}

/** The bytes of a signal's command. */
export function writeSignal(client, signalId, name, payload, {order_id: orderId, key, ...others}) {
  const [other] = Object.keys(others);
  if (other !== undefined) throw new TypeError(`signal has no option ${shown(other)}`);
  if ((orderId === undefined) === (key === undefined)) throw new TypeError("give either order_id or key");
  checkName("name", name);
  const address = orderId === undefined ? {key: checkKey(key)} : {order_id: checkOrderId(orderId)};
  const command = {v: 1, command_id: checkSignalId(signalId), command: "signal", ...address, signal: name};
  let text;
  try {
    text = writeJson(payload, SIGNAL_LEVELS, SIGNAL_MEMBERS);
  } catch (error) {
    throw new TypeError(`the payload cannot be written: ${error?.message}`, {cause: error});
  }
  if (Buffer.byteLength(text) > SIGNAL_MAX) throw new TypeError(`the payload is too large: a signal has at most ${SIGNAL_MAX} bytes`);
  return writeJson({...command, payload, by: `client ${client}`});
}
