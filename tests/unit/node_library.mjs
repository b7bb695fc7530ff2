// The Node library of proto/clients over a broker that the test plays: outcomes of posts, the checks of answers, and the values of JSON.
// Usage: node_library.mjs SOURCE
import assert from "node:assert/strict";
import {cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {after, beforeEach, test} from "node:test";

const DEADLINE_S = 20;
// Stands for amqplib. `answers` of the test are the outcomes of the posts to come: "cut" is a connection that breaks before the confirm.
const AMQPLIB = `
import {EventEmitter} from "node:events";
class Channel extends EventEmitter {
  constructor(connection) { super(); this.connection = connection; }
  async assertQueue() { return {queue: "q"}; }
  async bindQueue() {}
  async consume(queue, onMessage) { broker.consumers[queue] = onMessage; }
  async prefetch() {}
  async cancel() {}
  async close() { this.emit("close"); }
  ack() {}
  publish(exchange, key, body, options, onSettled) {
    if (options.type === "service_report") return broker.report(JSON.parse(body));
    broker.posts.push(JSON.parse(body));
    broker.sent.push({exchange, key, text: String(body), ...options});
    const result = options.type === "command" && broker.results.shift();
    if (result) setImmediate(() => broker.consumers[options.replyTo]({content: Buffer.from(JSON.stringify(result)),
      properties: {type: "command_result", correlationId: options.correlationId}}));
    const answer = broker.answers.shift();
    const settle = {confirmed: () => onSettled(null), refused: () => onSettled(new Error("nack")), cut: () => this.cut(onSettled),
      returned: () => { this.emit("return", {properties: options}); onSettled(null); }}[answer];
    if (settle) setImmediate(settle);
    broker.cut = () => this.cut(() => {});
    broker.watch?.();
  }
  cut(onSettled) { this.emit("close"); this.connection.emit("close"); onSettled(new Error("channel closed")); }
}
class Connection extends EventEmitter {
  async createConfirmChannel() { return new Channel(this); }
  async close() { this.emit("close"); }
}
const {broker} = globalThis;
export const connect = async () => {
  if (broker.fault) throw new Error(broker.fault);
  return new Connection();
};
`;

const folder = mkdtempSync(join(tmpdir(), "node_library."));
after(() => rmSync(folder, {recursive: true}));
cpSync(join(process.argv[2], "proto/clients/node"), folder, {recursive: true});
mkdirSync(join(folder, "node_modules/amqplib"), {recursive: true});
writeFileSync(join(folder, "node_modules/amqplib/package.json"), '{"type": "module", "exports": "./index.js"}');
writeFileSync(join(folder, "node_modules/amqplib/index.js"), AMQPLIB);

const broker = globalThis.broker = {};
const {Agent, Client, Digits, Done, NotTaken, Outcome, Permanent, Refused, Transient, readJson, writeJson} = await import(join(folder, "index.js"));
const log = {info() {}, warn() {}}, url = "amqp://localhost";

beforeEach(() => Object.assign(broker, {fault: "", answers: [], results: [], sent: [], posts: [], consumers: {}, watch: undefined}));

/** A test with a client. `submit(...answers)` submits the same order each time. */
function withClient(name, body) {
  test(name, {timeout: DEADLINE_S * 1000}, async () => {
    const client = new Client(url, {log});
    try {
      await body(client, (...answers) => {
        broker.answers = answers;
        return client.submit("w", {n: 1}, {order_id: "o-1", timeoutS: DEADLINE_S});
      });
    } finally {
      await client.close();
    }
  });
}

const posted = (count) => new Promise((resolve) => {
  broker.watch = () => { if (broker.posts.length >= count) resolve(); };
  broker.watch();
});

async function withShop(body) {
  const client = new Client(url, {client: "shop", log});
  try {
    await body(client);
  } finally {
    await client.close();
  }
}

test("a signal is a command and its outcome the schedulers' answer", {timeout: DEADLINE_S * 1000}, () => withShop(async (client) => {
  for (const word of ["taken", "kept", "counted", "duplicate"]) {
    broker.results = [{v: 1, verdict: "done", signal: word, text: ""}];
    assert.equal(await client.signal("paid", {sum: new Digits("14.00")}, {order_id: "o-1", signal_id: "evt-1"}), word);
  }
  const {exchange, key, text, messageId, replyTo} = broker.sent.at(-1);
  assert.deepEqual([exchange, key, messageId, replyTo], ["makegood.signals.shop", "paid", "evt-1", "client.shop.statuses"]);
  assert.equal(text, '{"v":1,"command_id":"evt-1","command":"signal","order_id":"o-1","signal":"paid","payload":{"sum":14.00},"by":"client shop"}');
  broker.results = [{v: 1, verdict: "done", signal: "kept", text: ""}];
  await client.signal("paid", undefined, {key: "invoice/17 – Zürich"});
  assert.deepEqual([broker.posts.at(-1).key, broker.posts.at(-1).payload], ["invoice/17 – Zürich", null]);
}));

test("a signal that is not taken says why", {timeout: DEADLINE_S * 1000}, () => withShop(async (client) => {
  for (const [result, outcome] of [[{verdict: "conflict", signal: "late"}, "late"], [{verdict: "conflict", signal: "refused"}, "refused"],
    [{verdict: "not_found"}, "not_found"], [{verdict: "invalid"}, "invalid"]]) {
    broker.results = [{v: 1, text: "why", ...result}];
    await assert.rejects(client.signal("paid", 1, {order_id: "o-1"}), (error) => error instanceof NotTaken && error.outcome === outcome &&
      error.message === `${outcome}: why`);
  }
  broker.answers = ["returned"];
  await assert.rejects(client.signal("paid", 1, {order_id: "o-1"}), /returned: client shop may not send signal paid/);
}));

// Would catch: a signal that is lost with its connection, or sent as another one.
test("a signal is sent again with its id until it is answered", {timeout: DEADLINE_S * 1000}, () => withShop(async (client) => {
  broker.answers = ["refused", "cut", "confirmed"];
  await assert.rejects(client.signal("paid", 1, {order_id: "o-1", signal_id: "evt-1", timeoutS: 3}), {name: "TimeoutError"});
  assert.deepEqual(broker.sent.map(({messageId}) => messageId), ["evt-1", "evt-1", "evt-1"]);
  assert.equal(new Set(broker.sent.map(({correlationId}) => correlationId)).size, 1);
}));

test("a wrong argument sends no signal", {timeout: DEADLINE_S * 1000}, () => withShop(async (client) => {
  for (const {name = "paid", payload = 1, ...options} of [{}, {order_id: "o", key: "k"}, {order_id: ""}, {order_id: 5}, {key: ""}, {key: "a\tb"},
    {key: "ü".repeat(129)}, {key: "\ud800"}, {key: 5}, {order_id: "o", name: "Paid"}, {order_id: "o", signal_id: "a b"},
    {order_id: "o", signal_id: "x".repeat(65)}, {order_id: "o", payload: "x".repeat(65535)}, {order_id: "o", payload: () => 1},
    {order_id: "o", payload: "\0"}, {order_id: "o", timeoutS: -1}, {order_id: "o", signalId: "x"}]) {
    await assert.rejects(client.signal(name, payload, options), TypeError, JSON.stringify(options));
  }
  const nameless = new Client(url, {log});
  await assert.rejects(nameless.signal("paid", 1, {order_id: "o"}), /a client without a name sends no signals/);
  await nameless.close();
  assert.equal(broker.sent.length, 0);
}));

// Would catch: a submission that is reported as refused while the queue holds it.
withClient("a refusal proves nothing of a post without an answer", async (_client, submit) => {
  assert.equal(await submit("cut", "refused", "returned", "confirmed"), "o-1");
  assert.equal(broker.posts.length, 4);
});

// Would catch: a second submission that drops the order by its refusal.
withClient("a confirmed order is taken for good", async (client, submit) => {
  await submit("confirmed");
  assert.equal(await submit("refused"), "o-1");
  assert.equal(broker.posts.length, 1);
  broker.consumers.q({content: Buffer.from('{"seq": 1, "status": "processed"}'), properties: {correlationId: "o-1"}});
  assert.equal((await client.wait("o-1")).seq, 1);
});

// Would catch: later statuses of a repaired order, which no call gives; a wait for the next status at an order in error.
withClient("an error ends the statuses only if it is the newest", async (client, submit) => {
  const send = (seq, status) => broker.consumers.q({content: Buffer.from(JSON.stringify({seq, status})), properties: {correlationId: "o-1"}});
  const seen = async (statuses) => { const all = []; for await (const {seq} of statuses) all.push(seq); return all; };
  await submit("confirmed");
  send(1, "accepted");
  send(2, "error");
  assert.deepEqual(await seen(client.statuses("o-1")), [1, 2]);
  const begun = client.statuses("o-1");
  assert.deepEqual([(await begun.next()).value.seq, (await begun.next()).value.seq], [1, 2]);
  for (const [seq, status] of [[4, "error"], [3, "step_completed"], [5, "processed"]]) send(seq, status);
  assert.deepEqual(await seen(begun), [3, 4, 5]);
  assert.deepEqual(await seen(client.statuses("o-1")), [1, 2, 3, 4, 5]);
});

// Would catch: an order with statuses that stay in the lost queue after one refusal.
withClient("a post from a new queue goes on until it is confirmed", async (_client, submit) => {
  await submit("confirmed");
  broker.answers = ["refused", "refused", "confirmed"];
  broker.cut();
  await posted(4);
  broker.answers = ["refused"];
  broker.cut();
  await posted(6);
  assert.equal(await submit(), "o-1");
});

// Would catch: a refused order that is reported as unknown, or that stays in hand.
withClient("a refusal of the only post is one", async (client, submit) => {
  for (const answer of ["refused", "returned"]) {
    await assert.rejects(submit(answer), (error) => error instanceof Refused && error.message.includes(answer));
    await assert.rejects(client.wait("o-1", {timeoutS: 0}), /not in hand/);
  }
  assert.equal(await submit("confirmed"), "o-1");
});

// Would catch: a wrong certificate or password that shows as a time-out only.
test("a time-out has the reason for it", {timeout: DEADLINE_S * 1000}, async () => {
  broker.fault = "the certificate is for another host";
  const client = new Client(url, {log});
  try {
    await assert.rejects(client.submit("w", {}, {timeoutS: 0.5}), /within 0.5 s: Error: the certificate is for another host$/);
  } finally {
    await client.close();
  }
});

// Would catch: a submission or a reply that is no JSON, and a value that arrives as another one.
test("each value is written as JSON.stringify writes it, or is refused", () => {
  const own = {toJSON(name) { return {name, toJSON: undefined}; }};
  for (const value of [[1, , 3], new Array(3), {a: [, undefined]}, new String("x"), [new Number(3), Object(false)], {a: new Boolean(true)},
    new Date(0), new Date(NaN), own, [own], {a: own}, {a: undefined, b: {toJSON() {}}}, new Map([[1, 2]]), -0, "я\n\u2028", null]) {
    assert.equal(writeJson(value), JSON.stringify(value));
  }
  for (const text of ["14.00", "-0", "1E+400", "0.10e-7", "12345678901234567890"]) {
    assert.equal(writeJson([new Digits(text), ...readJson(Buffer.from(`[${text}]`))]), `[${text},${text}]`);
  }
  assert.equal(writeJson([10n ** 30n, Object(5n)]), `[1${"0".repeat(30)},5]`);
  for (const text of ["", "1,2", "NaN", "Infinity", "abc", "01", "1.", ".5", "+1", "1e", "0x1", " 1", "1\n", "1}", 1, undefined]) {
    assert.throws(() => new Digits(text), TypeError);
    assert.throws(() => writeJson([Object.assign(new Digits("1"), {text})]), TypeError);
  }
  for (const value of [undefined, Symbol("s"), () => {}, {a() {}}, [NaN], new Number(Infinity), "a\0", new String("\ud800"), {"\ud800": 1}]) {
    assert.throws(() => writeJson(value), TypeError);
  }
  assert.throws(() => writeJson(new Array(2 ** 22 + 1)), RangeError);
});

// Would catch: a refusal that is lost by its text; a word that no scheduler reads.
test("the words of an answer are cleaned and checked", () => {
  assert.equal(Permanent("x", null).text, "");
  const {code, text} = Permanent(`a\0${"x".repeat(99)}`, `b\ud800${"y".repeat(300)}`);
  assert.deepEqual({code, text}, {code: `a\ufffd${"x".repeat(61)}`, text: `b\ufffd${"y".repeat(253)}`});
  assert.throws(() => new Outcome("good", "yes"), TypeError);
  assert.throws(() => Permanent("x", "", {executed: true}), TypeError);
  assert.throws(() => Transient({retryAfterS: -1}), TypeError);
});

/** The reply of an agent after one call of its handler. */
async function answered(handler) {
  const now = Date.now(), moment = (ms) => new Date(now + ms).toISOString(), agent = new Agent("bank", {url, do: handler, log});
  const request = {v: 1, order_id: "o-1", step: "pay", service: "bank", attempt: 1, kind: "do", idempotency_key: "k", do_key: "k",
    sent_at: moment(0), complete_by: moment(DEADLINE_S * 1000), request: {method: "POST", path: "/"}};
  const started = new Promise((resolve) => { broker.report = resolve; }), running = agent.run();
  await started;
  Object.assign(broker, {answers: ["confirmed"], posts: []});
  broker.consumers["agent.bank.requests"]({fields: {exchange: "makegood.requests"}, properties: {}, content: Buffer.from(JSON.stringify(request))});
  await posted(1);
  agent.stop();
  assert.equal(await running, true);
  return broker.posts[0];
}

const failing = () => { throw new Error("no text"); };

// Would catch: an agent that a driver's BigInt ends.
test("a pause is of any kind of number", {timeout: DEADLINE_S * 1000}, async () => {
  for (const [pause, ms] of [[5n, 5000], [1.5, 1500], [10n ** 400n, 365 * 86400000]]) {
    assert.equal((await answered(() => Transient({retryAfterS: pause}))).retry_after_ms, ms);
  }
});

// Would catch: an agent that a wrong answer of a handler ends; a request without a reply.
test("each value that a handler throws or returns is answered", {timeout: DEADLINE_S * 1000}, async () => {
  const thrown = [undefined, null, Symbol("s"), Object.create(null), {toString: failing}, {get stack() { return failing(); }}, {stack: {toString: failing}},
    new Proxy({}, {get: failing})];
  const changed = () => Object.assign(Permanent("sold_out"), {text: Symbol("s"), executed: "perhaps"});
  const wrong = [...thrown.map((value) => () => { throw value; }), () => Promise.reject(thrown[4]), () => undefined, changed,
    () => Done({toJSON: failing}), () => Object.create(Outcome.prototype), () => ({then: failing})];
  for (const handler of wrong) {
    const {outcome, executed, error} = await answered(handler);
    assert.deepEqual([outcome, executed, error.code, typeof error.text], ["transient", "maybe", "exception", "string"]);
  }
  assert.equal((await answered(() => Done({n: 1}))).result.n, 1);
});

// Would catch: a step that is done and that is undone, since its reply is dead-lettered.
test("a result too large is left out", {timeout: DEADLINE_S * 1000}, async () => {
  let deep = 1;
  for (let levels = 0; levels < 32; levels++) deep = [deep];
  for (const result of [deep, new Array(9901), {toJSON: () => new Array(9901).fill(1)}, "я".repeat(32768), new Array(2500).fill({a: 1, b: 1, c: 1})]) {
    const reply = await answered(() => Done(result));
    assert.deepEqual([reply.outcome, reply.result, reply.truncated], ["done", undefined, true]);
  }
  for (const result of [new Array(9900), "я".repeat(32767), new String("x".repeat(20000))]) {
    const reply = await answered(() => Done(result));
    assert.deepEqual([JSON.stringify(reply.result), reply.truncated], [JSON.stringify(result), undefined]);
  }
});

/** The first report of an agent that starts. */
async function reported() {
  const agent = new Agent("bank", {url, do: Done, log}), report = new Promise((resolve) => { broker.report = resolve; });
  const running = agent.run(), {instance} = await report;
  agent.stop();
  await running;
  return instance;
}

// Would catch: two agents that both take the share of one.
test("each agent of a process is an instance", {timeout: DEADLINE_S * 1000}, async () => {
  assert.notEqual(await reported(), await reported());
});

const TABLE = JSON.parse(readFileSync(join(process.argv[2], "tests/unit/library_arguments.json")));
const NAMES = {order_id: "order_id", timeout: "timeoutS", drain_timeout: "drainTimeoutS"}; // where JavaScript's name is another one

/** An argument of library_arguments.json. */
function made(value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  if (!value.make) return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, made(member)]));
  if (value.make === "nested") {
    let nested = [];
    for (let level = 1; level < value.levels; level++) nested = [nested];
    return nested;
  }
  return {repeat: () => value.of.repeat(value.times), elements: () => new Array(value.count).fill(0), half: () => "\ud800",
    nul: () => "a\0b", nan: () => NaN}[value.make]();
}

async function refusedOrTaken(cases, call) {
  for (const {name, with: given, refused, in: languages} of TABLE[cases]) {
    if (languages && !languages.includes("node")) continue;
    const arguments_ = Object.fromEntries(Object.entries(given).map(([member, value]) => [NAMES[member] ?? member, made(value)]));
    const began = performance.now();
    let error = null;
    try {
      await call(arguments_);
    } catch (thrown) {
      error = thrown;
    }
    if (refused) {
      assert.ok(error instanceof Error && error.name !== "TimeoutError", `${name}: ${error}`);
      assert.match(error.message, new RegExp(NAMES[refused] ?? refused, "i"), name);
      assert.doesNotMatch(error.message, /[\0-\x1f\x7f-\x9f\p{Surrogate}]/u, name);
      assert.ok(error.message.length < 400, name);
    } else {
      assert.equal(error, null, `${name}: ${error}`);
    }
    assert.ok(performance.now() - began < DEADLINE_S * 500, name);
  }
}

// Would catch: a wrong argument that shows as a time-out only, and an order that stays in hand by it.
withClient("each wrong argument is refused at once and harms no other order", async (client) => {
  await refusedOrTaken("submit", async ({workflow = "hello", payload = {n: 1}, ...options}) => {
    const before = broker.posts.length, order_id = `o-${before}`;
    broker.answers = ["confirmed"];
    try {
      await client.submit(workflow, payload, {order_id, timeoutS: 1, ...options});
    } catch (error) {
      assert.equal(broker.posts.length, before);
      assert.equal(await client.submit("hello", {}, {order_id: "good", timeoutS: DEADLINE_S}), "good");
      throw error;
    }
  });
  broker.answers = ["confirmed"];
  await client.submit("hello", {}, {order_id: "o-1"});
  await refusedOrTaken("wait", ({order_id = "o-1", timeoutS = 0}) => client.wait(order_id, {timeoutS}));
  await refusedOrTaken("wait", ({order_id = "o-1", timeoutS = 0}) => client.statuses(order_id, {timeoutS}));
  await assert.rejects(client.submit("hello", {}, null), /options/);
  await assert.rejects(client.wait("o-1", 5), /options/);
});

// Would catch: a client that connects for ever, and an agent that fails at its first call.
test("each wrong argument of a client and of an agent is refused at once", {timeout: DEADLINE_S * 1000}, async () => {
  await refusedOrTaken("client", ({url: address = url, ...options}) => new Client(address, {log, ...options}).close());
  await refusedOrTaken("agent", ({service = "bank", ...options}) => { new Agent(service, {url, do: Done, log, ...options}); });
  assert.throws(() => new Client(url, 5), /options/);
  assert.throws(() => new Agent("bank"), /options/);
});

// Would catch: one message that is taken for a channel that is gone, and is offered for ever.
test("a message that cannot be written is settled alone", async () => {
  const {Link} = await import(join(folder, "link.js")), warnings = [];
  const link = new Link(url, {log: {info() {}, warn: (text) => warnings.push(text)}, onUp() {}, onDown() {}});
  link.channel = {publish(_exchange, _key, _body, {messageId}, onSettled) {
    if (messageId !== "o-2") throw new TypeError("Field 'messageId' is the wrong type");
    setImmediate(onSettled, null);
  }};
  const settled = await Promise.all([5, "o-2"].map((messageId) => link.publish("", "", "{}", {messageId})));
  assert.deepEqual(settled, ["unwritable", "confirmed"]);
  assert.equal(warnings.length, 1);
});
