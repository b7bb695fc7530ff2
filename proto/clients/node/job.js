// A request in hand, and the reply to it.
import {writeJson} from "./json.js";
import {FAR_S, Transient, bootS} from "./request.js";

const RESULT_MAX = 64 * 1024, RESULT_LEVELS = 31, RESULT_MEMBERS = 9900; // schedulers refuse a reply above 32 and 10,000
const RETRY_MAX_MS = 365 * 86400000;
const DOUBT_S = 4.5; // three control messages come within this time

/** One of the two queues. */
export class Line {
  waiting = [];
  held = 0;
  prefetch = 0;
  roomSince = Infinity;
  consumer = "";

  constructor(queue) { this.queue = queue; }

  hold(change) {
    this.held += change;
    this.roomSince = this.held >= this.prefetch ? Infinity : Math.min(this.roomSince, bootS());
  }
}

/** A request in hand, from its delivery to the end of its reply. */
export class Job {
  outcome = null;
  result = "null";
  refusals = 0;

  /** `giveBack` is null when its connection is gone. `isFresh`: it has not waited in its queue. `mayStillAct`: so may an earlier
   *  delivery, and "no" of this one is no proof. */
  constructor(request, {line, giveBack, received, isFresh, mayStillAct, correlationId}) {
    this.name = `${request.orderId}.${request.step}.${request.attempt}.${request.kind}`;
    this.isAtMostOnce = request.message.at_most_once === true;
    Object.assign(this, {request, line, giveBack, received, isFresh, mayStillAct, correlationId: correlationId || this.name});
  }

  isOver() { return this.request.until <= bootS(); }

  /** in time, late, in doubt, or not called: too late or too early by a clock that may be wrong. Sets the request's time. */
  judge(clock) {
    const boot = bootS(), {request} = this, now = clock.now(boot), isKnown = clock.isKnown(boot);
    const given = request.completeBy - request.sentAt - (boot - this.received);
    request.until = boot + given;
    if (given <= 0) return "late";
    if (this.isFresh) return now - (boot - this.received) - request.sentAt <= FAR_S ? "in time" : "not called";
    if (isKnown && request.sentAt - now > FAR_S) return "not called";
    request.until = boot + Math.min(given, request.completeBy - now);
    if (request.until > boot) return "in time";
    return isKnown || boot - this.received > DOUBT_S ? "late" : "in doubt";
  }

  reply() {
    const {request, outcome} = this;
    let {executed} = outcome;
    // Alongside a good answer to version 3, which may be judged to be a refusal, "yes" speaks for earlier deliveries as well.
    const isDoubtful = executed === "no" ? request.kind !== "verify" : executed === "yes" && request.kind === "do" && request.version >= 3;
    if (this.mayStillAct && isDoubtful) executed = "maybe";
    const isCut = this.result === null || Buffer.byteLength(this.result) > RESULT_MAX;
    const reply = {
      v: 1, order_id: request.orderId, step: request.step, attempt: request.attempt, kind: request.kind, outcome: outcome.outcome, executed,
      may_still_act: this.mayStillAct || undefined,
      error: outcome.code ? {code: outcome.code, text: outcome.text} : undefined,
      retry_after_ms: outcome.retryAfterS === undefined ? undefined : Math.min(RETRY_MAX_MS, Math.trunc(outcome.retryAfterS * 1000)),
      truncated: isCut || undefined,
    };
    return isCut || this.result === "null" ? writeJson(reply) : `${writeJson(reply).slice(0, -1)},"result":${this.result}}`;
  }
}

/** With these codes the step waits, and no attempt is counted. */
export const notCalled = (code, text) => Transient({code, text, executed: "no"});

/** A result as text; null if it is too large for a reply. */
export function writeResult(result) {
  try {
    return writeJson(result ?? null, RESULT_LEVELS, RESULT_MEMBERS);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
