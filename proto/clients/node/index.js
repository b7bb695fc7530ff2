// Clients and agents of Makegood in JavaScript, on amqplib: see ../README.md and, for the types, index.d.ts.
export {Agent} from "./agent.js";
export {Client, ENDS, NotTaken, Refused, TimeoutError} from "./client.js";
export {Digits, readJson, writeJson} from "./json.js";
export {Absent, Accepted, Done, Outcome, Permanent, Transient, Unknown} from "./request.js";
