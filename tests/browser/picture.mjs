// The picture of the console in the README: the overview, with a service that is paused and orders that have failed.
import {writeFileSync} from "node:fs";
import {fileURLToPath} from "node:url";
import {behave, failing, submit, tool} from "./demo.mjs";
import {Visitor, leave} from "./visitor.mjs";

const SALE = fileURLToPath(new URL("sale.json", import.meta.url));
const SIZE = {width: 1280, height: 800};

await tool(["workflow", "load", SALE]);
await failing(12);
await behave("payment", "order");
await tool(["service", "pause", "carrier", "--for", "2h", "--reason", "its till is closed until noon", "--by", "otto"]);
await submit(20);
const visitor = await Visitor.login("operator", SIZE);
await visitor.sees("12 orders have failed");
await visitor.sees("Service carrier is paused");
await visitor.page.evaluate(() => document.activeElement.blur());
writeFileSync(`${process.env.MAKEGOOD_BROWSER_PICTURES}/console.png`, await visitor.page.screenshot());
await visitor.leave();
await leave();
