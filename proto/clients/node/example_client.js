#!/usr/bin/env node
// Posts an order of the workflow "hello" and prints its statuses. Usage: example_client.js AMQP-URL
import {Client} from "makegood";

const client = new Client(process.argv[2]);
const orderId = await client.submit("hello", {name: "Ada", amount: 14.5});
for await (const {seq, status} of client.statuses(orderId, {timeoutS: 60})) console.log(orderId, seq, status);
await client.close();
