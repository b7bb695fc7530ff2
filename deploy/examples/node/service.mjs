#!/usr/bin/env node
// A service that keeps every promise of `makegood service test`. Usage: service.mjs PORT [JOURNAL]
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";

const PATH = /^\/(reservations|charges|mails)(?:\/by-key\/([^/]+))?$/; // add your own things here
const journal = process.argv[3] ?? "service.jsonl"; // a real service has a table with a unique key
const effects = new Map(); // by key; no answer: the key is undone
if (existsSync(journal)) {
  for (const line of readFileSync(journal, "utf8").split("\n").filter(Boolean)) effects.set(...JSON.parse(line));
}

function keep(key, answer) { // key and effect are stored in one step, before the answer
  appendFileSync(journal, JSON.stringify([key, answer]) + "\n", { flush: true });
  effects.set(key, answer);
}

function perform(things, key, body) { // POST /THINGS: the effect, once for each key
  if (things === "charges" && body.amount > 100) return [422, { code: "card_declined", message: "the card is declined" }];
  if (!effects.has(key)) keep(key, { id: `${things}-${key}` });
  return effects.get(key) ? [201, effects.get(key)] : [410, { code: "undone", message: "this key is undone" }];
}

function find(key) { // GET /THINGS/by-key/KEY: did it happen?
  return effects.get(key) ? [200, effects.get(key)] : [404, {}];
}

function undo(key) { // DELETE /THINGS/by-key/KEY: undone, also if it never came; a late POST finds the mark
  keep(key, null);
  return [200, {}];
}

function answer(method, url, headers, text) { // a call that is not one of these three is refused
  const [, things, key] = PATH.exec(url) ?? [], sent = headers["idempotency-key"];
  if (!things) return [404, { code: "unknown_path", message: url }];
  if (method === "POST" && !key) return sent ? perform(things, sent, JSON.parse(text)) : [400, { code: "no_key" }];
  if (method === "GET" && key) return find(decodeURIComponent(key));
  if (method === "DELETE" && key) return undo(decodeURIComponent(key));
  return [405, { code: "unknown_method", message: `${method} ${url}` }];
}

createServer(async (request, response) => {
  let text = "", reply = [400, { code: "unreadable" }];
  for await (const part of request) text += part;
  try { reply = answer(request.method, request.url, request.headers, text); } catch (error) { console.error(error); }
  response.writeHead(reply[0], { "Content-Type": "application/json" }).end(JSON.stringify(reply[1]));
}).listen(Number(process.argv[2]), "127.0.0.1");
