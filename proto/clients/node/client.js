// A client: posts orders and receives their statuses, and sends signals.
import {randomUUID} from "node:crypto";
import {checkName, checkOptions, checkOrderId, checkSeconds, checkTraceparent, writeSignal, writeSubmission} from "./arguments.js";
import {readJson} from "./json.js";
import {Link, TICK_S, monotonicS, stderrLog} from "./link.js";

export const ENDS = ["processed", "compensated", "cancelled", "rejected", "error"];
const ORDERS_MAX = 1000; // in hand of one client: all are posted again at once after a reconnect
const GAP_S = 5;         // a status waits so long for the ones before it, which a lost queue may have taken along
const TIMEOUT_S = 30;
const PAUSE_S = 0.5;     // after a refused post: a full queue takes some time to have room again

/** The broker took the post of an order for certain not: its queue is full, or there is none. */
export class Refused extends Error { name = "Refused"; }

/** A signal was not taken. `outcome`: late, refused, not_found, invalid, conflict; returned, if the client may not send it at all. */
export class NotTaken extends Error {
  name = "NotTaken";

  constructor(outcome, text) {
    super(text ? `${outcome}: ${text}` : outcome);
    this.outcome = outcome;
  }
}

export class TimeoutError extends Error { name = "TimeoutError"; }

class Order {
  submitters = 0;    // calls that wait for the confirm
  post = null;       // the newest
  isOut = false;     // it has no answer yet
  isTaken = false;   // a post was confirmed, or a status came
  isMaybe = false;   // a post without an answer may have arrived
  refusal = "";      // the broker's, if it proves that the order was not taken
  bySeq = new Map(); // {came, status}

  constructor(orderId, body, routingKey, headers) {
    Object.assign(this, {orderId, body, routingKey, headers});
  }

  last() {
    return this.bySeq.get(Math.max(...this.bySeq.keys()))?.status;
  }

  /** The next status after `seq`, unless one before it may still come. */
  after(seq) {
    const following = Math.min(...[...this.bySeq.keys()].filter((one) => one > seq)), found = this.bySeq.get(following);
    const isNext = following <= Math.max(seq, 0) + 1; // 0 is a rejection, 1 the first status
    return found && (isNext || monotonicS() - found.came > GAP_S) ? found.status : undefined;
  }

  hasEnded() {
    return ENDS.includes(this.last()?.status);
  }
}

export class Client {
  #name; #exchange; #queueName; #log; #link; #running; #wake; #changed;
  #queue = ""; #fault = ""; #orders = new Map();
  #signals = new Map(); // by correlation id: those that await their answer

  constructor(url, options = {}) {
    const {client = "", socket, log = stderrLog} = checkOptions(options);
    if (client !== "") checkName("client", client);
    this.#name = client;
    this.#exchange = client ? `makegood.intake.${client}` : "makegood.intake";
    this.#queueName = client ? `client.${client}.statuses` : "";
    this.#log = log;
    this.#notify();
    this.#link = new Link(url, {socket, log, onUp: (channel) => this.#onUp(channel), onDown: () => { this.#queue = ""; }});
    this.#running = this.#run();
  }

  async close() {
    this.#link.stop();
    await this.#running;
  }

  async submit(workflow, payload = {}, options = {}) {
    const {order_id: orderId = randomUUID(), traceparent = "", timeoutS = TIMEOUT_S, ...members} = checkOptions(options);
    const body = writeSubmission(orderId, workflow, payload, members);
    checkSeconds("timeoutS", timeoutS);
    if (traceparent !== "") checkTraceparent(traceparent);
    const queue = members.priority === "high" ? "orders.intake.high" : "orders.intake";
    const known = this.#orders.get(orderId);
    if (!known && this.#orders.size >= ORDERS_MAX) throw new Refused(`${ORDERS_MAX} orders are in hand: forget() those that have ended`);
    if (known && known.body !== body) throw new Error(`order ${orderId} was submitted with another content`);
    const order = known ?? new Order(orderId, body, queue, traceparent ? {traceparent} : {});
    this.#orders.set(orderId, order);
    order.submitters++;
    try {
      if (!known) this.#post(order);
      await this.#await(() => order.isTaken || order.refusal, timeoutS, `the broker did not confirm order ${orderId}`);
    } finally {
      order.submitters--;
    }
    const reason = order.refusal === "unwritable" ? "see the log" : `${queue} is full or missing`;
    if (order.refusal) throw new Refused(`the order ${orderId} was ${order.refusal}: ${reason}`);
    return orderId;
  }

  async signal(name, payload = null, options = {}) {
    const {signal_id: signalId = randomUUID(), timeoutS = TIMEOUT_S, ...address} = checkOptions(options);
    if (!this.#name) throw new TypeError("a client without a name sends no signals");
    const signal = {name, signalId, body: writeSignal(this.#name, signalId, name, payload, address)}, correlationId = randomUUID();
    checkSeconds("timeoutS", timeoutS);
    if (this.#signals.size >= ORDERS_MAX) throw new NotTaken("refused", `${ORDERS_MAX} signals are on their way`);
    this.#signals.set(correlationId, signal);
    try {
      this.#send(correlationId);
      await this.#await(() => signal.result || signal.refusal, timeoutS, `no scheduler has answered to signal ${signalId}`);
    } finally {
      this.#signals.delete(correlationId);
    }
    if (signal.refusal === "returned") throw new NotTaken("returned", `client ${this.#name} may not send signal ${name}, or its queue is missing`);
    if (signal.refusal) throw new NotTaken(signal.refusal, "see the log");
    const {verdict, signal: outcome = verdict, text} = signal.result;
    if (verdict !== "done") throw new NotTaken(outcome, text);
    return outcome;
  }

  statuses(orderId, options = {}) {
    const {timeoutS = TIMEOUT_S} = checkOptions(options);
    return this.#statuses(this.#inHand(orderId, timeoutS), timeoutS);
  }

  async* #statuses(order, timeoutS) {
    for (let seq = -1; ;) {
      const status = await this.#await(() => order.after(seq), timeoutS, `no further status of order ${order.orderId}`);
      seq = status.seq;
      yield status;
      if (ENDS.includes(status.status) && (status.status !== "error" || order.last().seq <= seq)) return;
    }
  }

  async wait(orderId, options = {}) {
    const {timeoutS = TIMEOUT_S} = checkOptions(options), order = this.#inHand(orderId, timeoutS);
    await this.#await(() => order.hasEnded(), timeoutS, `order ${orderId} has not ended`);
    return order.last();
  }

  forget(orderId) {
    this.#orders.delete(orderId);
  }

  #inHand(orderId, timeoutS) {
    checkOrderId(orderId);
    checkSeconds("timeoutS", timeoutS);
    const order = this.#orders.get(orderId);
    if (!order) throw new Error(`order ${orderId} is not in hand of this client`);
    return order;
  }

  async #await(condition, timeoutS, what) {
    for (const deadline = monotonicS() + timeoutS; ;) {
      const value = condition();
      if (value) return value;
      if (this.#fault) throw new Error(this.#fault);
      if (!(monotonicS() < deadline)) throw new TimeoutError(`${what} within ${timeoutS} s${this.#link.fault && `: ${this.#link.fault}`}`);
      await this.#changed; // at the latest by a tick: a gap in the statuses ends by the clock
    }
  }

  #notify() {
    this.#wake?.();
    this.#changed = new Promise((resolve) => { this.#wake = resolve; });
  }

  async #run() {
    const ticks = setInterval(() => {
      this.#link.tick();
      this.#notify();
    }, TICK_S * 1000);
    await this.#link.run();
    clearInterval(ticks);
    this.#fault = "the client is closed";
    this.#notify();
  }

  async #onUp(channel) {
    const queue = this.#queueName || (await channel.assertQueue("", {exclusive: true, durable: false})).queue;
    await channel.consume(queue, (message) => this.#onMessage(message), {noAck: true});
    this.#queue = queue;
    for (const order of this.#orders.values()) this.#post(order);
    for (const correlationId of this.#signals.keys()) this.#send(correlationId); // an answer may have gone with the old queue
  }

  async #send(correlationId) {
    const signal = this.#signals.get(correlationId);
    if (!signal || signal.result || !this.#queue) return; // without a queue for the answer, as soon as there is one
    const settled = await this.#link.publish(`makegood.signals.${this.#name}`, signal.name, signal.body, {
      type: "command", replyTo: this.#queue, correlationId, messageId: signal.signalId});
    if (settled === "refused") setTimeout(() => this.#send(correlationId), PAUSE_S * 1000); // the queue is full
    if (settled === "returned" || settled === "unwritable") signal.refusal = settled;
    this.#notify();
  }

  async #post(order) {
    const isOver = order.hasEnded() && order.last().status !== "error"; // an order in error may go on
    if (!this.#queue || isOver || this.#orders.get(order.orderId) !== order) return; // without a queue, as soon as there is one
    const post = order.post = {};
    order.isMaybe ||= order.isOut; // the one before went with its connection
    order.isOut = true;
    const settled = await this.#link.publish(this.#exchange, order.routingKey, order.body, {
      replyTo: this.#queue, correlationId: order.orderId, messageId: order.orderId, headers: order.headers});
    if (order.post === post) order.isOut = false;
    const isRefused = ["refused", "returned", "unwritable"].includes(settled);
    order.isTaken ||= settled === "confirmed";
    order.isMaybe ||= settled === "unknown";
    // A refusal proves nothing of an earlier post. And only a call that waits can report it.
    if (isRefused && !order.isTaken && !order.isMaybe && order.submitters > 0) {
      order.refusal = settled;
      this.#orders.delete(order.orderId);
    } else if (isRefused) {
      setTimeout(() => { if (order.post === post) this.#post(order); }, PAUSE_S * 1000); // unless another connection has posted it
    }
    this.#notify();
  }

  #onMessage(message) {
    if (!message) return this.#link.leave("the broker has cancelled the consumer of the statuses");
    if (message.properties.type === "command_result") return this.#onResult(message);
    let status;
    try {
      status = readJson(message.content);
      if (!Number.isSafeInteger(status.seq) || typeof status.status !== "string") throw new TypeError("it has no seq or no status");
    } catch (error) {
      this.#log.warn(`a message that is no status was passed over: ${error.message}`);
      return;
    }
    const order = this.#orders.get(message.properties.correlationId);
    if (order) {
      order.isTaken = true;
      if (!order.bySeq.has(status.seq)) order.bySeq.set(status.seq, {came: monotonicS(), status});
    }
    this.#notify();
  }

  #onResult({content, properties}) {
    let result;
    try {
      result = readJson(content);
      if (typeof result.verdict !== "string") throw new TypeError("it has no verdict");
    } catch (error) {
      this.#log.warn(`a message that is no answer to a signal was passed over: ${error.message}`);
      return;
    }
    const signal = this.#signals.get(properties.correlationId);
    if (signal) signal.result = result;
    this.#notify();
  }
}
