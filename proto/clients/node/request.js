// A request, the answers of its handler, and the time that both have.
import {uptime} from "node:os";
import {readJson} from "./json.js";
import {monotonicS} from "./link.js";

const REQUEST_VERSION = 3; // a request of a higher version is left for a newer agent
const MARGIN_S = 0.25;     // kept back of a handler's time, for the reply
const MINUTE_S = 60;
export const FAR_S = 1;    // a message this far above the least difference was held up, or the clock went back
const BACK_BAND_S = 0.05, BACK_CONTROL_BAND_S = 0.25; // the supervisor's look at the clock is up to a quarter of a second old
const BACK_SPAN_S = 0.5;
const SAMPLES_MIN = 3;     // control messages by which the database's clock counts as known
const SKEW_MAX_S = 2;
const CODE_MAX = 63, TEXT_MAX = 255; // schedulers keep no more
const OUTCOMES = ["done", "accepted", "absent", "transient", "permanent", "unknown"];
const ASLEEP_S = 1;        // a machine's sleep is noticed from this length on: uptime() is coarse

/** Without the characters that schedulers refuse. */
const clean = (text, most) => [...String(text ?? "").replace(/[\0\p{Surrogate}]/gu, "\ufffd")].slice(0, most).join("");

/** The answer of a handler. `executed` is the important member: "no" only if it is certain that nothing happened. */
export class Outcome {
  constructor(outcome, executed, {result, code = "", text = "", retryAfterS} = {}) {
    if (!OUTCOMES.includes(outcome)) throw new TypeError(`${outcome} is no outcome`);
    if (!["yes", "no", "maybe"].includes(executed)) throw new TypeError(`executed is yes, no or maybe, not ${executed}`);
    const waitS = retryAfterS === undefined ? undefined : Number(retryAfterS); // a BigInt is no factor
    if (waitS !== undefined && !(waitS >= 0)) throw new TypeError(`retryAfterS is no time: ${retryAfterS}`);
    Object.assign(this, {outcome, executed, result, retryAfterS: waitS, code: clean(code, CODE_MAX), text: clean(text, TEXT_MAX)});
  }
}

export const Done = (result) => new Outcome("done", "yes", {result});
export const Accepted = (result) => new Outcome("accepted", "yes", {result});
export const Absent = () => new Outcome("absent", "no");
export const Transient = ({retryAfterS, text, code = "transient", executed = "maybe"} = {}) =>
  new Outcome("transient", executed, {code, text, retryAfterS});
export const Permanent = (code, text, {executed = "no"} = {}) => new Outcome("permanent", executed, {code, text});
export const Unknown = (text) => new Outcome("unknown", "maybe", {code: "answer_unclear", text});

/** A request that only a newer agent can read. */
export class Newer extends Error {}

/** The member, if it is of that type. */
export function typed(message, name, type) {
  const value = message[name];
  const isRight = type === "integer" ? Number.isSafeInteger(value) : typeof value === type && value !== null;
  if (!isRight) throw new TypeError(`/${name} is missing or of another type`);
  return value;
}

/** A request as its handler gets it. */
export class Request {
  /** Throws Newer, and another error for a message that is no request of the service. */
  constructor(body, service) {
    const message = readJson(body);
    if (typeof message !== "object" || message === null) throw new TypeError("it is no object");
    this.message = message; // all of it, as in request.schema.json
    this.version = typed(message, "v", "integer");
    this.kind = typed(message, "kind", "string");
    if (this.version > REQUEST_VERSION || !["do", "undo", "verify"].includes(this.kind)) throw new Newer();
    this.orderId = typed(message, "order_id", "string");
    this.step = typed(message, "step", "string");
    this.attempt = typed(message, "attempt", "integer");
    this.idempotencyKey = typed(message, "idempotency_key", "string");
    this.doKey = typed(message, "do_key", "string");
    this.completeBy = readMoment(typed(message, "complete_by", "string"));
    this.sentAt = readMoment(typed(message, "sent_at", "string"));
    const action = typed(message, "request", "object");
    this.method = typed(action, "method", "string");
    this.path = typed(action, "path", "string");
    this.body = action.body;
    this.traceparent = String(message.traceparent ?? "");
    this.isRedelivered = false; // an earlier delivery of it may have acted, or may be at work
    this.until = Infinity;      // of bootS(): past it no answer counts
    if (typed(message, "service", "string") !== service) throw new Error("it is for another service");
  }

  /** Seconds for the handler, less a margin for the reply. An answer that comes later is dropped. */
  timeLeftS() {
    return this.until - bootS() - MARGIN_S;
  }
}

const started = uptime() - monotonicS();
let asleep = 0; // seconds of sleep, which the monotonic clock leaves out

/** Seconds since the machine's start, its sleep included (law 6, database clock). */
export function bootS() {
  const now = monotonicS(), drift = uptime() - now - started;
  if (drift > asleep + ASLEEP_S) asleep = drift;
  return now + asleep;
}

/** Seconds since 1970 of a moment in a message. */
export function readMoment(text) {
  const whole = text.slice(0, 19), ms = Date.parse(`${whole}Z`);
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(text) || new Date(ms || 0).toISOString().slice(0, 19) !== whole) {
    throw new TypeError(`${text} is no moment`);
  }
  return ms / 1000 + Number(`0${text.slice(19, -1)}`);
}

/** The database's clock, from the least (receipt - sent_at) of the last minute (law 6, database clock). */
export class Clock {
  #log;
  #least = new Map(); // by second of bootS()
  #controls = [];     // receipts of the last control messages
  #far = [];          // {boot, lead} of those in a row that are far above the least

  constructor(log) { this.#log = log; }

  note(boot, sentAt, isControl) {
    let lead = boot - sentAt;
    for (const second of this.#least.keys()) {
      if (second <= boot - MINUTE_S) this.#least.delete(second);
    }
    if (lead > this.#lead() + FAR_S) {
      if (!isControl || !this.#isStepBack(boot, lead)) return;
      this.#log.warn("the database's clock jumped back; deadlines follow its new time");
      this.#least.clear();
      lead = Math.min(...this.#far.map((one) => one.lead));
    }
    this.#far = [];
    const second = Math.floor(boot);
    this.#least.set(second, Math.min(lead, this.#least.get(second) ?? lead));
    if (isControl) this.#controls = [...this.#controls, boot].slice(-SAMPLES_MIN);
  }

  /** The least lead; Infinity without a message of the last minute. */
  #lead() {
    return Math.min(...this.#least.values());
  }

  /** Messages that were held up arrive together; a clock that went back shifts all alike. */
  #isStepBack(boot, lead) {
    const [first] = this.#far;
    if (first && lead < first.lead - BACK_BAND_S) this.#far = [];
    else if (first && lead > first.lead + BACK_CONTROL_BAND_S) return false;
    this.#far.push({boot, lead});
    return this.#far.length >= SAMPLES_MIN && boot - this.#far[0].boot >= BACK_SPAN_S;
  }

  isKnown(boot) {
    return this.#controls.length === SAMPLES_MIN && this.#controls[0] > boot - MINUTE_S + 1;
  }

  /** While it is not known, a full queue looks like a clock that is ahead: the later estimate holds. */
  now(boot) {
    const byMessages = boot - this.#lead();
    return this.isKnown(boot) ? byMessages : Math.max(byMessages, Date.now() / 1000);
  }

  fault(boot) {
    const behind = this.isKnown(boot) ? 0 : boot - this.#lead() - Date.now() / 1000;
    return behind > SKEW_MAX_S ? `this machine's clock is ${behind.toFixed(1)} s behind the database's; synchronise it` : "";
  }
}
