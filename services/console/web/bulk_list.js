// Bulk actions: open ones and ended ones, newest first.
import {h, morph, ago, badge, bulkLink, number, panel, plural, table} from "/dom.js";
import {get} from "/api.js";
import {watch} from "/app.js";
import {countLink} from "/workflows.js";

export const SILENT_MS = 10000; // a leading supervisor sweeps several times a second, a bulk runner reports every 2 s

/** "Resume 12 orders: http_503". */
export function bulkTitle(bulk) {
  const {error, step, workflow} = bulk.filter, what = [error, step && `step ${step}`, workflow].filter(Boolean).join(", ");
  return `${bulk.verb[0].toUpperCase()}${bulk.verb.slice(1)} ${plural(bulk.orders, "order", "orders")}${what === "" ? "" : `: ${what}`}`;
}

export const isDriven = (runner) => runner.age_ms !== null && Number(runner.age_ms) <= SILENT_MS;

/** Shows the process that drives bulk actions. Without one a bulk action does not move, though it has no fault of its own. */
export function runnerTell(runner) {
  return isDriven(runner) ? h("p", {class: "soft"}, "Run by ", h("span", {class: "id"}, runner.holder), ".")
    : h("p", {class: "failed"}, "No process runs bulk actions now. They continue when a console, or makegood bulk run, is connected to RabbitMQ and PostgreSQL.");
}

export function bulkTable(rows) {
  return table("Bulk actions", [
    {name: "bulk action", cell: (row) => bulkLink(row.bulk_id, bulkTitle(row))},
    {name: "state", cell: (row) => badge(row.state)},
    ...["done", "failed", "skipped"].map((result) => ({name: result, number: true, cell: (row) => countLink(row[result], `/bulk/${row.bulk_id}?${new URLSearchParams({result})}`)})),
    {name: "remaining", number: true, cell: (row) => number(Number(row.waiting) + Number(row.asked))},
    {name: "started", cell: (row) => [row.by_whom, " ", ago(row.created_at)]},
    {name: "reason", cell: (row) => row.reason},
  ], rows, {empty: "No bulk action has been started. The page of failures has a button for it.", key: (row) => row.bulk_id});
}

export async function show({main}) {
  const {bulk, runner, is_cut: isCut} = await get("bulk");
  const list = h("div", {}, bulkTable(bulk));
  main.append(h("h1", {}, "Bulk actions"),
    h("p", {}, "A bulk action resumes, compensates or cancels all orders that failed for the same cause. It starts with a few orders, continues at a limited rate, and stops if too many fail again. Start a bulk action on the page of ", h("a", {href: "/failures"}, "failures"), "."),
    panel("Newest first", list, isCut && h("p", {class: "soft"}, "The list is cut. For more: makegood bulk list --limit.")), runnerTell(runner[0]));
  return watch({}, {
    overview: (data) => {
      const fresh = new Map(data.bulk.map((row) => [row.bulk_id, row]));
      const known = new Set(bulk.map((row) => row.bulk_id));
      morph(list, h("div", {}, bulkTable([...data.bulk.filter((row) => !known.has(row.bulk_id)), ...bulk.map((row) => fresh.get(row.bulk_id) ?? row)])));
    },
  });
}
