// An agent: takes the requests of one service and answers them. Nothing of a request outlives the process: a crash means redelivery.
import {hostname} from "node:os";
import {threadId} from "node:worker_threads";
import {CONCURRENCY_MAX, checkHandler, checkInteger, checkName, checkOptions, checkSeconds} from "./arguments.js";
import {Job, Line, notCalled, writeResult} from "./job.js";
import {readJson, writeJson} from "./json.js";
import {BACKOFF_MAX_S, BACKOFF_S, Link, TICK_S, stderrLog} from "./link.js";
import {Clock, FAR_S, Newer, Outcome, Permanent, Request, Transient, bootS, readMoment, typed} from "./request.js";

const BODY_MAX = 4 * 1024 * 1024;
const NEWER_DELIVERIES_MAX = 15; // below the queues' delivery limit of 20
const NEWER_WAIT_S = 1;          // so that it does not spin between agents that cannot read it
const CONTROLS_MAX = 10;         // control messages in their queue; the newest counts
const REPORT_S = 5;              // a report holds for 15 s
const DOWN_VALID_S = 20;
const FORMER_LEADER_S = 5;       // a lower epoch counts again after so long without the higher one
const ROOM_S = 1;                // after so long with room a delivery has not waited in its queue
const STANDSTILL_S = 1.5;        // a process without a turn for longer stalled
const BURST_S = 0.1;             // of a rate; smooths the grain of timers
const HIGH_RUN_MAX = 4;          // requests of high priority in a row while others wait
const SIGNALS = ["SIGTERM", "SIGINT"];

let agents = 0; // of this thread: an operator's limit is shared by instances

/** A thrown value as text. It may have none, and its own code may fail. */
function textOf(thrown, isWithStack) {
  try {
    return String((isWithStack && thrown?.stack) || thrown);
  } catch {
    return `a thrown ${typeof thrown} without text`;
  }
}

const after = (seconds, function_) => { setTimeout(function_, seconds * 1000); };

export class Agent {
  #service; #concurrency; #drainTimeoutS; #handlers; #log; #link; #clock; #exchange;
  #process = Date.now();
  #instance = `${hostname().slice(0, 64)}:${process.pid}:${Math.floor(this.#process / 1000)}.${threadId}.${++agents}`;
  #high; #normal; #consumers = 0;
  #jobs = new Set(); #doubtful = [];
  #running = 0; #highRun = 0; #newer = 0;
  #limit; #rate = 0; #tokens = 1; #refilled = bootS(); #hasTimer = false;
  #control = {epoch: 0, version: 0, paused: false}; #controlCame = -Infinity; #healthCame = -Infinity;
  #isNamed = false; #isDown = false; #isProber = false;
  #reports = 0; #reportedAt = -Infinity; #turned = bootS(); #awakeSince = bootS();
  #stops = 0; #drainUntil = Infinity;

  constructor(service, options) {
    const {url, do: do_, undo, verify, concurrency = 16, drainTimeoutS = 30, socket, log = stderrLog} = checkOptions(options);
    this.#service = checkName("service", service);
    this.#concurrency = this.#limit = checkInteger("concurrency", concurrency, CONCURRENCY_MAX);
    this.#drainTimeoutS = checkSeconds("drainTimeoutS", drainTimeoutS);
    this.#handlers = {do: checkHandler("do", do_, false), undo: checkHandler("undo", undo), verify: checkHandler("verify", verify)};
    this.#log = log;
    this.#clock = new Clock(log);
    this.#exchange = `makegood.replies.${service}`;
    this.#high = new Line(`agent.${service}.requests.high`);
    this.#normal = new Line(`agent.${service}.requests`);
    this.#link = new Link(url, {socket, log, onUp: (channel) => this.#onUp(channel), onDown: () => this.#onDown()});
  }

  async run() {
    const onSignal = () => this.stop(), ticks = setInterval(() => this.#tick(), TICK_S * 1000);
    for (const signal of SIGNALS) process.on(signal, onSignal);
    try {
      await this.#link.run();
    } finally {
      clearInterval(ticks);
      for (const signal of SIGNALS) process.off(signal, onSignal);
    }
    return this.#jobs.size === 0;
  }

  stop() {
    this.#stops++; // the next tick acts on it
  }

  // ---- connection ----

  async #onUp(channel) {
    this.#awakeSince = bootS();
    const {queue} = await channel.assertQueue("", {exclusive: true, autoDelete: true, durable: false, arguments: {"x-max-length": CONTROLS_MAX}});
    await channel.bindQueue(queue, `makegood.control.${this.#service}`, "");
    await channel.consume(queue, (message) => this.#onControl(message), {noAck: true, exclusive: true});
    this.#consume();
    this.#report();
    for (const job of this.#jobs) if (job.outcome) this.#offer(job);
  }

  /** Consumes with the prefetch that fits the present limits. */
  #consume() {
    const {channel} = this.#link;
    if (!channel || this.#isDraining()) return;
    const prefetch = this.#rate ? Math.max(1, Math.min(this.#limit, Math.floor(this.#rate))) : this.#limit;
    const ask = (promise) => promise.catch(() => {}); // a failure closes the channel, and so the link makes another
    for (const line of [this.#high, this.#normal]) {
      if (line.consumer && line.prefetch === prefetch) continue;
      if (line.consumer) ask(channel.cancel(line.consumer));
      line.prefetch = prefetch;
      line.roomSince = Infinity; // a backlog may have waited for this
      line.hold(0);
      line.consumer = `${line.queue}.${++this.#consumers}`;
      ask(channel.prefetch(prefetch));
      ask(channel.consume(line.queue, (message) => this.#onDelivery(line, channel, message), {consumerTag: line.consumer}));
    }
  }

  /** From now on other agents may have all that is in hand. Requests that have not begun are left to them. */
  #onDown() {
    for (const line of [this.#high, this.#normal]) {
      for (const job of line.waiting.splice(0)) this.#jobs.delete(job);
      Object.assign(line, {held: 0, consumer: "", roomSince: Infinity});
    }
    this.#doubtful = [];
    for (const job of this.#jobs) {
      job.giveBack = null;
      job.mayStillAct ||= !job.isAtMostOnce;
    }
  }

  // ---- requests ----

  #onDelivery(line, channel, message) {
    if (!message) return this.#link.leave("the broker has cancelled a consumer");
    const {fields, properties, content} = message, headers = properties.headers ?? {};
    this.#turn();
    const received = bootS();
    const isBelieved = ["", "makegood.requests"].includes(fields.exchange); // other writers may set the header at will
    const isAgain = fields.redelivered || (isBelieved && Boolean(headers["x-makegood-again"]));
    const isFresh = !isAgain && received - line.roomSince >= ROOM_S;
    line.hold(1);
    const giveBack = (verb, ...options) => { // ack, reject or nack; a broken connection has given it back already
      if (this.#link.channel !== channel) return;
      channel[verb](message, ...options);
      line.hold(-1);
    };
    let request;
    try {
      if (!["request", "", undefined].includes(properties.type)) throw new Newer();
      if (content.length > BODY_MAX) throw new Error(`its body is above ${BODY_MAX} bytes`);
      request = new Request(content, this.#service);
    } catch (error) {
      if (error instanceof Newer) {
        const counts = [headers["x-delivery-count"], headers["x-acquired-count"]].map((count) => Number(count ?? 0));
        return this.#leave(giveBack, fields.redelivered ? Math.max(...counts) : 0);
      }
      this.#log.warn(`message ${properties.messageId} refused and dead-lettered: ${error.message}`);
      return giveBack("reject", false);
    }
    request.isRedelivered = isAgain;
    if (isFresh || request.sentAt - this.#clock.now(received) <= FAR_S) { // one that waited may be of a clock that went back
      this.#clock.note(received, request.sentAt, false);
    }
    const job = new Job(request, {line, giveBack, received, isFresh, mayStillAct: isAgain, correlationId: properties.correlationId});
    const twin = isAgain && [...this.#jobs].find((one) => one.name === job.name);
    if (twin) this.#join(twin, giveBack);
    else this.#admit(job);
  }

  /** The request was redelivered while it is in work here: the work goes on for the newer delivery. */
  #join(twin, giveBack) {
    twin.giveBack?.("ack");
    twin.giveBack = giveBack;
    twin.mayStillAct = twin.request.isRedelivered = true;
  }

  /** Leaves a request to a newer agent. One waits here at a time, so that others pass. */
  #leave(giveBack, count) {
    if (count >= NEWER_DELIVERIES_MAX) {
      this.#log.warn("a request that no running agent can read was dead-lettered");
      return giveBack("reject", false);
    }
    this.#newer++;
    after(this.#newer === 1 ? NEWER_WAIT_S : 0, () => {
      this.#newer--;
      giveBack("nack", false, true);
    });
  }

  #admit(job) {
    const verdict = job.judge(this.#clock);
    if (verdict === "in doubt") return this.#doubtful.push(job);
    this.#jobs.add(job);
    if (verdict === "late") {
      this.#end(job, "its complete-by has passed");
    } else if (verdict === "not called") {
      this.#answer(job, notCalled("breaker_open", "by the database's clock, as it was known, the request came late"));
    } else if (job.isAtMostOnce && job.request.isRedelivered) {
      this.#answer(job, new Outcome("unknown", "maybe", {code: "redelivered", text: "an earlier agent may have been called"}));
    } else {
      job.line.waiting.push(job);
      this.#pump();
    }
  }

  /** Lets out the requests that may go. */
  #pump() {
    while (this.#high.waiting.length + this.#normal.waiting.length > 0) {
      const isDown = this.#isDown && !this.#isProber, isCalled = !(this.#isDraining() || this.#control.paused || isDown);
      if (isCalled && !this.#mayCall()) return;
      const job = this.#next();
      if (job.isOver()) {
        this.#end(job, "its complete-by has passed");
      } else if (isCalled) {
        this.#running++;
        this.#tokens--;
        this.#call(job);
      } else if (this.#isDraining()) {
        this.#putBack(job);
      } else if (this.#control.paused) {
        this.#answer(job, notCalled("service_paused", "an operator has paused the service"));
      } else {
        this.#answer(job, notCalled("breaker_open", "the service is down for most agents"));
      }
    }
  }

  /** False: a call that ends, or a timer, looks again. */
  #mayCall() {
    if (this.#running >= this.#limit) return false;
    const now = bootS(), most = Math.max(1, this.#rate * BURST_S);
    this.#tokens = this.#rate ? Math.min(most, this.#tokens + this.#rate * (now - this.#refilled)) : 1;
    this.#refilled = now;
    if (this.#tokens >= 1) return true;
    if (!this.#hasTimer) {
      this.#hasTimer = true;
      after((1 - this.#tokens) / this.#rate, () => {
        this.#hasTimer = false;
        this.#pump();
      });
    }
    return false;
  }

  #next() {
    const high = this.#high.waiting, normal = this.#normal.waiting;
    const isHigh = high.length > 0 && (normal.length === 0 || this.#highRun < HIGH_RUN_MAX);
    this.#highRun = isHigh && normal.length > 0 ? this.#highRun + 1 : 0;
    return (isHigh ? high : normal).shift();
  }

  async #call(job) {
    const {request} = job, handler = this.#handlers[request.kind];
    let outcome;
    try {
      outcome = handler ? await handler(request) : Permanent("no_handler", `the agent has no ${request.kind}`);
      if (!(outcome instanceof Outcome) || (outcome.outcome === "absent" && request.kind === "do")) {
        throw new TypeError(`a handler of ${request.kind} returned ${outcome?.outcome ?? typeof outcome}`);
      }
      outcome = new Outcome(outcome.outcome, outcome.executed, outcome); // checks it, since it may have been changed
      job.result = writeResult(outcome.result);
    } catch (error) { // whatever it is, the service may have acted
      this.#log.warn(`the handler failed for ${job.name}: ${textOf(error, true)}`);
      outcome = Transient({code: "exception", text: textOf(error, false)});
    }
    this.#running--;
    this.#answer(job, outcome);
    this.#pump();
  }

  // ---- replies ----

  #answer(job, outcome) {
    job.outcome = outcome;
    this.#offer(job);
  }

  /** The reply is confirmed before the request is acked. Until complete-by it is offered again. */
  async #offer(job) {
    if (!this.#jobs.has(job)) return; // an earlier offer was confirmed meanwhile
    if (job.isOver()) return this.#end(job, "its complete-by has passed");
    if (!this.#link.channel) return; // it is offered with the next connection
    const {traceparent} = job.request;
    const settled = await this.#link.publish(this.#exchange, "scheduler.replies", job.reply(), {
      type: "reply", correlationId: job.correlationId, messageId: job.name, headers: traceparent ? {traceparent} : {}});
    if (settled === "confirmed") {
      this.#end(job);
    } else if (settled === "unwritable") {
      this.#end(job, "its reply cannot be written; the request is dead-lettered", "reject", false);
    } else if (settled !== "unknown") {
      job.refusals++;
      after(Math.min(BACKOFF_MAX_S, BACKOFF_S * job.refusals), () => this.#offer(job));
    }
  }

  #end(job, dropped = "", verb = "ack", ...options) {
    if (dropped) this.#log.info(`${job.name} dropped without a reply: ${dropped}`);
    this.#jobs.delete(job);
    job.giveBack?.(verb, ...options);
    job.giveBack = null;
  }

  /** Given back, a request that may be sent only once would count as redelivered, although it was not sent. */
  #putBack(job) {
    if (job.isAtMostOnce) return this.#answer(job, notCalled("breaker_open", "the agent stopped before the call"));
    this.#jobs.delete(job);
    job.giveBack?.("nack", false, true);
  }

  // ---- settings and reports ----

  #onControl(message) {
    if (!message) return this.#link.leave("the broker has cancelled a consumer");
    const now = bootS();
    this.#turn();
    let control, prober, sentAt;
    try {
      control = readJson(message.content);
      if (control.v !== 1 || control.service !== this.#service) throw new Error("it has another version or service");
      if (!(control.epoch >= 0 && control.version >= 0)) throw new Error("its epoch or version is missing");
      typed(control, "paused", "boolean");
      if (control.epoch < this.#control.epoch && now - this.#controlCame < FORMER_LEADER_S) return; // of a former leader
      prober = control.down ? typed(control.down, "prober", "string") : undefined;
      sentAt = control.sent_at === undefined ? undefined : readMoment(control.sent_at);
      this.#applyLimits(control.shares);
    } catch (error) {
      this.#log.warn(`a control message cannot be read; the previous settings stay in force: ${error.message}`);
      return;
    }
    let isNew = String(control.version) !== String(this.#control.version) || control.paused !== this.#control.paused;
    this.#control = control;
    this.#controlCame = now;
    if (sentAt !== undefined) this.#clock.note(now, sentAt, now - this.#awakeSince >= ROOM_S);
    if (!control.undecided) {
      const isDown = prober !== undefined, isProber = prober === this.#instance;
      isNew ||= isDown !== this.#isDown || isProber !== this.#isProber;
      this.#healthCame = now;
      this.#isDown = isDown;
      this.#isProber = isProber;
    }
    this.#lookAgain(isNew);
  }

  /** Without a share an agent makes one call at a time; if it had a share, it keeps that. */
  #applyLimits(shares) {
    const own = shares?.find((one) => one.instance === this.#instance);
    if (shares && !own && this.#isNamed) return;
    this.#isNamed = Boolean(own);
    const share = own ?? (shares ? {concurrency: 1} : {});
    const limit = Math.min(this.#concurrency, share.concurrency ?? this.#concurrency), rate = Number(share.rate ?? 0);
    if (!(limit >= 1 && rate >= 0)) throw new Error("its limits are no limits");
    if (limit === this.#limit && rate === this.#rate) return;
    this.#limit = limit;
    this.#rate = rate;
    this.#refilled = bootS();
    this.#log.info(`limits changed: ${limit} calls at once, ${rate || "any number"} a second`);
    this.#consume();
  }

  #lookAgain(isNew) {
    for (const job of this.#doubtful.splice(0)) this.#admit(job);
    this.#pump();
    if (isNew || bootS() - this.#reportedAt >= REPORT_S) this.#report();
  }

  #report() {
    if (!this.#link.channel) return;
    this.#reportedAt = bootS();
    const reason = this.#isDraining() ? "stopping" : this.#clock.fault(this.#reportedAt);
    const report = {
      v: 1, service: this.#service, instance: this.#instance, breaker: this.#isDown && !this.#isProber ? "open" : "closed", ready: !reason,
      in_flight: this.#running, concurrency: this.#limit, reason, control_version: this.#control.version, process: this.#process,
      sequence: ++this.#reports, prober: this.#isProber,
    };
    this.#link.publish(this.#exchange, "scheduler.replies", writeJson(report), {type: "service_report"});
  }

  /** After a standstill no message that comes soon counts as fresh. */
  #turn() {
    const now = bootS();
    if (now - this.#turned > STANDSTILL_S) {
      this.#awakeSince = now;
      for (const line of [this.#high, this.#normal]) line.roomSince = line.roomSince < Infinity ? now : Infinity;
    }
    this.#turned = now;
  }

  #tick() {
    this.#turn();
    this.#link.tick();
    if (bootS() - this.#healthCame > DOWN_VALID_S) this.#isDown = this.#isProber = false;
    if (this.#stops > 0 && !this.#isDraining()) this.#drain();
    this.#lookAgain(false);
    const isDone = this.#jobs.size === 0 && this.#running === 0;
    if (this.#isDraining() && (isDone || this.#stops > 1 || bootS() >= this.#drainUntil)) this.#link.stop();
  }

  #isDraining() {
    return this.#drainUntil < Infinity;
  }

  #drain() {
    this.#log.info(`stopping: finishing ${this.#running} calls under way`);
    this.#drainUntil = bootS() + this.#drainTimeoutS;
    this.#report();
    const {channel} = this.#link;
    for (const line of [this.#high, this.#normal]) if (channel && line.consumer) channel.cancel(line.consumer).catch(() => {});
    for (const job of this.#doubtful.splice(0)) this.#putBack(job);
  }
}
