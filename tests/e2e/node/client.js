// The client of the Node library by lines of stdin, each a JSON array of a method and its arguments: answers each in a line of stdout.
// Usage: client.js AMQP-URL [CLIENT CA [CERT KEY]]
import {readFileSync} from "node:fs";
import {createInterface} from "node:readline";
import {Client, readJson, writeJson} from "makegood";

const [url, name, ...files] = process.argv.slice(2), [ca, cert, key] = files.map((file) => readFileSync(file));
const client = new Client(url, {client: name, socket: {ca, cert, key}});
const methods = {
  async statuses(...words) {
    const found = [];
    for await (const status of client.statuses(...words)) found.push(status);
    return found;
  },
};
for await (const line of createInterface({input: process.stdin})) {
  const [method, ...words] = readJson(Buffer.from(line));
  try {
    console.log(writeJson(await (methods[method] ?? client[method].bind(client))(...words) ?? null));
  } catch (error) {
    console.log(JSON.stringify({failed: String(error)}));
  }
}
await client.close();
