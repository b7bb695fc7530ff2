// A client of the gateway by types that openapi-typescript makes of the contract. Usage: gateway.js ADDRESS TOKEN
//
// The workflow "priced" gives back its price; an order of "held" waits until it is cancelled.
import assert from "node:assert/strict";
import {randomUUID} from "node:crypto";
import createClient from "openapi-fetch";
import type {components, paths} from "./contract.js";

type Schemas = components["schemas"];

const [baseUrl, token] = process.argv.slice(2);
const gateway = createClient<paths>({baseUrl, headers: {Authorization: `Bearer ${token}`}});
const customer = randomUUID(), orderId = randomUUID();
const order: Schemas["Submission"] = {order_id: orderId, workflow: "priced", payload: {price: 14.5, customer}};

async function* eventsOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Schemas["Status"]> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const piece of stream) {
    text += decoder.decode(piece, {stream: true});
    const whole = text.split("\n\n");
    text = whole.pop() ?? "";
    for (const event of whole) {
      const data = event.split("\n").find((line) => line.startsWith("data: "));
      if (data) yield JSON.parse(data.slice("data: ".length)) as Schemas["Status"];
    }
  }
}

async function post(): Promise<void> {
  for (let times = 0; times < 2; times++) { // the same again is the same order
    const {data, response} = await gateway.POST("/v1/orders", {body: order});
    assert.equal(response.status, 202);
    assert.equal(data?.order_id, orderId);
  }
  const {error} = await gateway.POST("/v1/orders", {body: {...order, payload: {price: 15, customer}}});
  assert.equal(error?.status, 409);
  assert.ok(error.detail.length > 0);
  const keyed = {body: {workflow: "priced", payload: {price: 3, customer}}, params: {header: {"Idempotency-Key": customer}}};
  const first = await gateway.POST("/v1/orders", keyed), second = await gateway.POST("/v1/orders", keyed);
  assert.ok(first.data && first.data.order_id === second.data?.order_id);
}

async function read(): Promise<void> {
  const {data} = await gateway.GET("/v1/orders/{order_id}", {params: {path: {order_id: orderId}, query: {wait: "20s"}}});
  assert.ok(data && "output" in data, JSON.stringify(data));
  assert.equal(data.state, "processed");
  assert.deepEqual(data.output, {price: 14.5});
  assert.deepEqual(data.labels, {customer});
  assert.equal(data.cause?.code, undefined);
  const unknown = await gateway.GET("/v1/orders/{order_id}", {params: {path: {order_id: "never-posted"}}});
  assert.equal(unknown.error?.status, 404);
}

async function follow(): Promise<void> {
  const {data} = await gateway.GET("/v1/orders/{order_id}/events", {params: {path: {order_id: orderId}}, parseAs: "stream"});
  assert.ok(data);
  const found: Schemas["Status"][] = [];
  for await (const status of eventsOf(data)) found.push(status);
  assert.deepEqual(found.map(({seq, status}) => [seq, status]), [[1, "accepted"], [2, "processed"]]);
  assert.deepEqual(found.at(-1)?.output, {price: 14.5});
}

async function postBatch(): Promise<void> {
  const lines = [{...order, order_id: randomUUID()}, {...order, workflow: "none", order_id: randomUUID()}];
  const {data, error} = await gateway.POST("/v1/orders:batch", {
    body: lines.map((line) => JSON.stringify(line)).join("\n"), bodySerializer: (body) => body,
    headers: {"Content-Type": "application/x-ndjson"}, parseAs: "text",
  });
  assert.ok(data, JSON.stringify(error));
  const answers = data.trim().split("\n").map((line) => JSON.parse(line) as Schemas["Line"]);
  assert.deepEqual(answers.map((answer) => ("order_id" in answer ? answer.order_id : answer.status)), [lines[0].order_id, 422]);
  const last = await gateway.GET("/v1/orders/{order_id}", {params: {path: {order_id: lines[0].order_id}, query: {wait: "20s"}}});
  assert.equal(last.data?.state, "processed");
}

async function list(): Promise<void> {
  const {data} = await gateway.GET("/v1/orders", {params: {query: {label: `customer=${customer}`, state: "processed"}}});
  assert.ok(data && data.next === null);
  assert.equal(data.orders.length, 3);
  assert.ok(data.orders.some((one) => one.order_id === orderId && one.workflow === "priced"));
}

async function cancel(): Promise<void> {
  const params = {path: {order_id: randomUUID()}};
  await gateway.POST("/v1/orders", {body: {order_id: params.path.order_id, workflow: "held"}});
  const {data: taken} = await gateway.GET("/v1/orders/{order_id}", {params: {...params, query: {wait: "1s"}}});
  assert.equal(taken?.state, "processing");
  const {data, error} = await gateway.POST("/v1/orders/{order_id}/cancel", {params, body: {reason: "it rains"}});
  assert.ok(data, JSON.stringify(error));
  const ended = await gateway.GET("/v1/orders/{order_id}", {params: {...params, query: {wait: "20s"}}});
  assert.equal(ended.data?.state, "cancelled");
  const again = await gateway.POST("/v1/orders/{order_id}/cancel", {params: {path: {order_id: orderId}}});
  assert.equal(again.error?.status, 409);
}

for (const part of [post, read, follow, postBatch, list, cancel]) await part();
