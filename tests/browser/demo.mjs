// The system behind the console: deploy/demo --keep, by the operator's tool and the sample remotes.
import assert from "node:assert/strict";
import {execFile} from "node:child_process";
import {readFileSync} from "node:fs";

const SOON_MS = 120000; // a wait ends in failure after this time
const AGAIN_MS = 100;
const NOT_FOUND = 3; // makegood's exit code

export const address = process.env.MAKEGOOD_BROWSER_ADDRESS;
export const tokens = {operator: process.env.MAKEGOOD_BROWSER_OPERATOR, reader: process.env.MAKEGOOD_BROWSER_READER};

/** Returns the output of `makegood WORDS`. */
export function tool(words, stdin = "") {
  return new Promise((resolve, reject) => {
    const child = execFile("makegood", words, {maxBuffer: 64 << 20},
      (error, stdout, stderr) => (error ? reject(Object.assign(error, {message: `makegood ${words.join(" ")}: ${stderr}`})) : resolve(stdout)));
    child.stdin.on("error", () => {}); // the exit code reports a tool that ends without reading its input
    child.stdin.end(stdin);
  });
}

/** Calls isSo() until it returns a true value, and returns that. */
export async function until(what, isSo) {
  for (const deadline = Date.now() + SOON_MS; Date.now() < deadline;) {
    const value = await isSo();
    if (value) return value;
    await new Promise((resolve) => { setTimeout(resolve, AGAIN_MS); });
  }
  throw new Error(`waited ${SOON_MS / 1000} s in vain until ${what}`);
}

let submitted = 0;
/** Posts `count` orders of a workflow and returns their ids; they may wait, fail or end. A `bare` payload has no number alongside it. */
export async function submit(count, {workflow = "sale", payload = {}, bare = false} = {}) {
  const ids = Array.from({length: count}, () => `browser-${process.pid}-${++submitted}`);
  await tool(["order", "submit", "-"], ids.map((id) => JSON.stringify({order_id: id, workflow, payload: bare ? payload : {number: id, ...payload}})).join("\n"));
  return ids;
}

/** The order's row, as the tool shows it; a missing one is "unknown". */
export async function order(id) {
  try {
    return JSON.parse(await tool(["order", "show", id, "-o", "json"])).order;
  } catch (error) {
    if (error.code !== NOT_FOUND) throw error;
    return {state: "unknown"};
  }
}

export const ended = (ids, state) => until(`${ids.length} orders are ${state}`, async () => {
  const states = await Promise.all(ids.map(async (id) => (await order(id)).state));
  return states.every((each) => each === state);
});

/** Sets a sample remote's behaviour for all orders; "order": each order's own. */
export async function behave(service, mode) {
  const {url} = JSON.parse(readFileSync(`${process.env.MAKEGOOD_BROWSER_SERVICES}/service-${service}.json`, "utf8"));
  const answer = await fetch(`${url}/switches/${service}`, {method: "PUT", body: JSON.stringify({mode, count: -1})});
  assert.equal(answer.status, 200, `${service} does not become ${mode}`);
}

/** Orders that have failed for good, since payment declined them. Payment goes on declining. */
export async function failing(count) {
  await behave("payment", "decline");
  const ids = await submit(count);
  await ended(ids, "error");
  return ids;
}
