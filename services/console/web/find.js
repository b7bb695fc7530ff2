// A search by one text: the beginning of an order's id, a label's value, and the rejected submissions.
import {h, ago, badge, orderLink, panel, table} from "/dom.js";
import {get} from "/api.js";

const BY_COLUMN = {name: "found by", brief: true, cell: (row) => row.found_by};
const FOUND_COLUMNS = [
  {name: "order", cell: (row) => orderLink(row.order_id)},
  BY_COLUMN,
  {name: "state", brief: true, cell: (row) => badge(row.state)},
  {name: "workflow", brief: true, cell: (row) => row.workflow},
  {name: "created", brief: true, cell: (row) => (row.archived_on === null ? ago(row.created_at) : `in the archive of ${row.archived_on}`)},
];
const byId = new Intl.Collator(undefined, {numeric: true}).compare; // order-2 before order-10
const failedFirst = (a, b) => Number(b.state === "error") - Number(a.state === "error") || byId(a.order_id, b.order_id);
const REJECTED_COLUMNS = [
  {name: "order id or message id", cell: (row) => h("span", {class: "id"}, row.order_id)},
  {name: "rejected", cell: (row) => ago(row.died_at)},
  {name: "reason", cell: (row) => row.reason ?? ""},
];

export async function show({main, query}) {
  const text = query.get("text") ?? "", rejected = h("div", {}, h("p", {class: "soft"}, "Searching …"));
  const {found, is_cut: isCut} = await get("find", {text});
  const columns = FOUND_COLUMNS.filter((column) => column !== BY_COLUMN || found.some((row) => row.found_by !== "id"));
  main.append(h("h1", {}, "Search: ", h("span", {class: "id"}, text)),
    panel("Orders, failed ones first", table("Orders", columns, [...found].sort(failedFirst), {empty: "No order's id begins so, and no order has such a label.", key: (row) => `${row.found_by} ${row.order_id}`}),
      isCut && h("p", {class: "soft"}, "The list is cut. Give more of the id, or search the orders by labels.")),
    panel("Rejected submissions", rejected));
  get("dead", {queue: "orders.rejected", find: text}).then((data) => {
    rejected.replaceChildren(table("Rejected submissions", REJECTED_COLUMNS, data.letters, {empty: "None of the rejected submissions has such an id.", key: (row) => row.mark}),
      data.is_cut ? h("p", {class: "soft"}, "Only the first messages of the queue were searched.") : "");
  }, (error) => rejected.replaceChildren(h("p", {class: "failed"}, `The rejected submissions could not be searched: ${error.message}.`)));
}
