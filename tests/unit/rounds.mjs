// Rounds of waiting as the console's page finds them, by the table rounds.json, which test_rounds.c reads for the tool.
// Would catch: a line in the browser that differs from the tool's.
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";

const source = process.argv[2];
const page = readFileSync(`${source}/services/console/web/rounds.js`, "utf8"); // a module; Node takes the file's name for a script's
const {called, folded} = await import(`data:text/javascript,${encodeURIComponent(page)}`);
const table = JSON.parse(readFileSync(`${source}/tests/unit/rounds.json`, "utf8"));

/** Entries as in the table: a number of single events, or rounds that share one line. */
function entriesOf(events) {
  const entries = [];
  for (const entry of folded(events)) {
    if (entry.rounds) {
      const [first] = called(entry.rounds);
      entries.push({rounds: entry.rounds.length, events: entry.rounds.flat().length, calls: called(entry.rounds).length,
        last: events.indexOf(entry.rounds.at(-1)[0]), answer: first ? events.indexOf(first[1]) : null});
    } else if (Number.isInteger(entries.at(-1))) {
      entries.push(entries.pop() + 1);
    } else {
      entries.push(1);
    }
  }
  return entries;
}

assert.ok(table.cases.length > 0);
for (const example of table.cases) {
  const events = example.events.map((name) => {
    assert.ok(table.events[name], `${name}: no such event`);
    return {...table.events[name]}; // an object of its own, for indexOf
  });
  assert.deepEqual(entriesOf(events), example.entries, example.case);
}
