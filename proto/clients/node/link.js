// A connection to the broker that is made anew whenever it breaks.
import {connect} from "amqplib";
import {checkUrl} from "./arguments.js";

export const TICK_S = 0.25; // a stop, a lost confirm and an expired state are noticed this late
export const BACKOFF_S = 0.2;
export const BACKOFF_MAX_S = 5;
const HEARTBEAT_S = 15; // unless the URL gives another one
const CONNECT_S = 10;   // for the whole way to an open channel
const CLOSE_S = 5;      // for the broker's answer to a close
const CONFIRM_S = 30;   // a broker that confirms nothing for so long is left, and connected to anew

export const stderrLog = {info: (text) => console.error(text), warn: (text) => console.error(text)};

/** Seconds of a clock that nobody sets, for waits. */
export function monotonicS() {
  return performance.now() / 1000;
}

export class Link {
  /** The open channel, with confirms; null while there is none. */
  channel = null;
  /** Why there is no channel; "": there is one. */
  fault = "connecting";

  #url; #socket; #log; #onUp; #onDown;
  #isWanted = true;
  #cut = () => {};      // ends the present connection, or the wait for the next one
  #waiting = new Set(); // {at, onSettled} of published messages that are not settled
  #returned = new Set();

  /** `onUp(channel)` may be async: until it is done, and if it fails, the connection is as good as none. */
  constructor(url, {socket, log, onUp, onDown}) {
    this.#url = checkUrl(url);
    if (!this.#url.searchParams.has("heartbeat")) this.#url.searchParams.set("heartbeat", String(HEARTBEAT_S));
    this.#socket = socket;
    this.#log = log;
    this.#onUp = onUp;
    this.#onDown = onDown;
  }

  /** Ends after stop(). */
  async run() {
    for (let failures = 0; this.#isWanted;) {
      const began = monotonicS(), reason = await this.#live();
      if (!this.#isWanted) return;
      if (monotonicS() - began > CONNECT_S + BACKOFF_MAX_S) failures = 0;
      this.fault = String(reason).trim();
      const waitS = Math.min(BACKOFF_MAX_S, BACKOFF_S * 2 ** failures++) * (0.5 + Math.random() / 2);
      this.#log.warn(`no connection to the broker, next try in ${waitS.toFixed(1)} s: ${this.fault}`);
      await new Promise((resolve) => { setTimeout(this.#cut = resolve, waitS * 1000); });
    }
  }

  /** Ends run(). Messages that are written before, acks among them, still go out. */
  stop() {
    this.#isWanted = false;
    this.#cut("stopped");
  }

  /** Leaves the connection for a new one. */
  leave(reason) {
    this.#cut(reason);
  }

  /** Persistent and mandatory. Resolves to "confirmed", "refused", "returned", "unknown" or "unwritable". */
  publish(exchange, routingKey, text, properties) {
    return new Promise((resolve) => {
      const channel = this.channel, waiting = {at: monotonicS()};
      const options = {contentType: "application/json", persistent: true, mandatory: true, ...properties};
      const onSettled = (error) => {
        this.#waiting.delete(waiting);
        const isReturned = this.#returned.delete(properties.messageId); // a return comes before its confirm
        if (error) resolve(this.channel === channel ? "refused" : "unknown");
        else resolve(isReturned ? "returned" : "confirmed");
      };
      try {
        channel.publish(exchange, routingKey, Buffer.from(text), options, onSettled);
        this.#waiting.add(waiting);
      } catch (error) {
        const isClosing = !channel || error.name === "IllegalOperationError";
        if (!isClosing) this.#log.warn(`message ${String(properties.messageId).slice(0, 80)} to ${exchange} cannot be written: ${error.message}`);
        resolve(isClosing ? "unknown" : "unwritable");
      }
    });
  }

  tick() {
    const [oldest] = this.#waiting;
    if (oldest && monotonicS() - oldest.at > CONFIRM_S) this.leave("the broker confirms nothing");
  }

  /** From one connect to the end of its connection, for the returned reason. */
  async #live() {
    const breaker = new AbortController();
    let channel = null, isUp = false, timer = setTimeout(() => breaker.abort(new Error("the broker is silent")), CONNECT_S * 1000);
    const lose = () => {
      if (!channel || this.channel !== channel) return; // an event of this connection ends no later one
      this.channel = null;
      this.#returned.clear();
      this.#onDown();
    };
    const ended = new Promise((resolve) => {
      this.#cut = (reason) => {
        lose();
        if (!isUp) breaker.abort();
        resolve(reason);
      };
    });
    const cut = this.#cut;
    try {
      const connection = await connect(this.#url.href, {...this.#socket, noDelay: true, timeout: CONNECT_S * 1000, signal: breaker.signal});
      const closed = new Promise((resolve) => { connection.on("close", resolve); });
      connection.on("close", cut);
      connection.on("error", cut);
      channel = await connection.createConfirmChannel();
      channel.on("error", cut);
      channel.prependListener("close", cut); // before amqplib settles the confirms that are missing
      channel.on("return", (message) => this.#returned.add(message.properties.messageId));
      this.channel = channel;
      await this.#onUp(channel);
      clearTimeout(timer);
      isUp = true;
      this.fault = "";
      const reason = await ended;
      timer = setTimeout(() => breaker.abort(), CLOSE_S * 1000);
      for (const each of [channel, connection]) { // a close of the connection alone would overtake the channel's acks
        await Promise.race([each.close().catch(() => {}), closed]);
      }
      return reason;
    } catch (error) {
      return error.cause ?? error; // of an abort, its reason
    } finally {
      lose();
      this.#waiting.clear();
      clearTimeout(timer);
      breaker.abort();
    }
  }
}
