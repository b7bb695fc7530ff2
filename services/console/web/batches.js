// Bulk actions: open ones and ended ones, newest first.
import {h, morph, badge, batchLink, number, panel, plural, table, when} from "/dom.js";
import {get} from "/api.js";
import {trouble, watch} from "/app.js";

export const SILENT_MS = 10000; // a leading supervisor sweeps several times a second, a batch runner reports every 2 s

export const VERB_TEXTS = {resume: "resume", compensate: "undo", cancel: "cancel"};
export const isDriven = (runner) => runner.age_ms !== null && Number(runner.age_ms) <= SILENT_MS;

/** Shows the process that drives batches. Without one a batch does not move, though it has no fault of its own. */
export function runnerTell(runner) {
  return isDriven(runner) ? h("p", {class: "soft"}, "Driven by ", h("span", {class: "id"}, runner.holder), ".")
    : h("p", {class: "failed"}, "Nobody drives batches now: it goes on when a console, or makegood batch run, has both servers.");
}

export function batchTable(rows) {
  return table("Batches", [
    {name: "batch", cell: (row) => batchLink(row.batch_id)},
    {name: "state", cell: (row) => badge(row.state)},
    {name: "what", cell: (row) => `${VERB_TEXTS[row.verb]} ${plural(row.orders, "order", "orders")}`},
    {name: "done", number: true, cell: (row) => number(row.done)},
    {name: "failed", number: true, cell: (row) => number(row.failed)},
    {name: "skipped", number: true, cell: (row) => number(row.skipped)},
    {name: "still to do", number: true, cell: (row) => number(Number(row.waiting) + Number(row.asked))},
    {name: "started", cell: (row) => [row.by_whom, " ", when(row.created_at)]},
    {name: "why", cell: (row) => row.reason},
  ], rows, {empty: "There has been none. Failures have a button for it.", key: (row) => row.batch_id});
}

export async function show({main}) {
  const {batches, runner, is_cut: isCut} = await get("batches");
  const list = h("div", {}, batchTable(batches));
  main.append(h("h1", {}, "Batches"),
    h("p", {}, "One action on all orders that failed for one cause: a few are tried first, the others follow gently, and it stops by itself when too many fail again. Begin one on the page of ", h("a", {href: "/failures"}, "failures"), "."),
    panel("Newest first", list, isCut && h("p", {class: "soft"}, "There are more; see makegood batch list --limit.")), runnerTell(runner[0]));
  return watch({}, {
    overview: (data) => {
      trouble("");
      const fresh = new Map(data.batches.map((row) => [row.batch_id, row]));
      const known = new Set(batches.map((row) => row.batch_id));
      morph(list, h("div", {}, batchTable([...data.batches.filter((row) => !known.has(row.batch_id)), ...batches.map((row) => fresh.get(row.batch_id) ?? row)])));
    },
  });
}
