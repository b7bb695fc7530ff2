// An agent by the Node library, for tests: notes each call in a ledger. Usage: parcels_agent.js AMQP-URL LEDGER [CA [CERT KEY]]
//
// The body of a do decides: "refuse", "raise", "hold" (until the file LEDGER.go exists or its time is over), or anything else.
import {appendFileSync, existsSync, readFileSync} from "node:fs";
import {setTimeout as pause} from "node:timers/promises";
import {Absent, Agent, Done, Permanent, Transient} from "makegood";

const POLL_MS = 20;
const [url, ledger, ...files] = process.argv.slice(2);
const [ca, cert, key] = files.map((file) => readFileSync(file));
const done = new Set();

function note({kind, idempotencyKey, orderId, attempt, isRedelivered, traceparent}) {
  const line = {kind, key: idempotencyKey, order: orderId, attempt, again: isRedelivered, trace: traceparent, at: performance.now() / 1000};
  appendFileSync(ledger, `${JSON.stringify(line)}\n`);
}

async function deliver(request) {
  note(request);
  const {body} = request;
  if (body === "refuse") return Permanent("no_such_street", "the parcel has no address");
  if (body === "raise" && request.attempt === 1) throw new Error("the first attempt fails");
  while (body === "hold" && !existsSync(`${ledger}.go`) && request.timeLeftS() > 0) await pause(POLL_MS);
  done.add(request.idempotencyKey);
  return request.timeLeftS() > 0 ? Done({parcel: body}) : Transient({text: "the time is over"});
}

function recall(request) {
  note(request);
  return done.delete(request.doKey) ? Done() : Absent();
}

const verify = ({doKey}) => (done.has(doKey) ? Done() : Absent());
process.exit(await new Agent("parcels", {url, do: deliver, undo: recall, verify, concurrency: 4, socket: {ca, cert, key}}).run() ? 0 : 1);
