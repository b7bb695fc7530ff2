#!/usr/bin/env node
// An agent of the service "greeting". Usage: example_agent.js AMQP-URL
import {Absent, Agent, Done} from "makegood";

const greetings = new Map(); // by idempotency key; a real service keeps them in its database

/** @type {import("makegood").Handler} */
function greet({idempotencyKey, body}) {
  if (!greetings.has(idempotencyKey)) greetings.set(idempotencyKey, {greeting: `Hello, ${body.name}`});
  return Done(greetings.get(idempotencyKey));
}

const agent = new Agent("greeting", {
  url: process.argv[2],
  do: greet,
  undo: ({doKey}) => (greetings.delete(doKey) ? Done() : Absent()),
  verify: ({doKey}) => (greetings.has(doKey) ? Done(greetings.get(doKey)) : Absent()),
});
process.exit(await agent.run() ? 0 : 1);
