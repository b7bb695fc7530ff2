// The client of the Node library by lines of stdin, each a JSON array of a method and its arguments: answers each in a line of stdout.
import {createInterface} from "node:readline";
import {Client, readJson, writeJson} from "makegood";

const client = new Client(process.argv[2]);
const methods = {
  async statuses(...words) {
    const found = [];
    for await (const status of client.statuses(...words)) found.push(status);
    return found;
  },
};
for await (const line of createInterface({input: process.stdin})) {
  const [method, ...words] = readJson(Buffer.from(line));
  console.log(writeJson(await (methods[method] ?? client[method].bind(client))(...words) ?? null));
}
await client.close();
