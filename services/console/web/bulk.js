// One bulk action: its progress, the result of each order, and its actions.
import {h, ago, badge, fact, number, orderLink, panel, plural, table, tile, when} from "/dom.js";
import {get, mayAct, post} from "/api.js";
import {lively, watch} from "/app.js";
import {actButton} from "/act.js";
import {bulkTitle, runnerTell} from "/bulk_list.js";

const RESULTS = ["waiting", "asked", "done", "failed", "skipped"];
const STATE_TEXTS = {
  canary: (bulk) => `The first ${plural(bulk.canary, "order is", "orders are")} tried; the other orders wait for the result.`,
  running: (bulk) => `The bulk action starts ${number(bulk.rate_per_s)} orders per second.`,
  paused: () => "The bulk action is paused: no further orders are started; orders under way continue.",
  stopped: () => "The bulk action is stopped permanently; orders under way continue.",
  done: () => "The bulk action has ended.",
};
const WISHES = [
  {wish: "pause", name: "Pause", states: ["canary", "running"], text: "No further orders are started; orders under way continue."},
  {wish: "resume", name: "Resume", states: ["paused"], text: "The bulk action starts orders again, at the same rate as before."},
  {wish: "stop", name: "Stop permanently", states: ["canary", "running", "paused"], isHarm: true, text: "Waiting orders are skipped and stay unchanged; orders under way continue."},
];

const resultName = (result) => (result === "asked" ? "under way" : result);
const resultHref = (more) => `${location.pathname}${Object.keys(more).length > 0 ? `?${new URLSearchParams(more)}` : ""}`;

/** Each figure leads to its orders. */
function progress(bulk) {
  const over = Number(bulk.done) + Number(bulk.failed) + (bulk.state === "stopped" ? 0 : Number(bulk.skipped)), all = Number(bulk.orders);
  return h("div", {}, h("progress", {class: bulk.state === "stopped" ? "is-bad" : bulk.state === "done" ? null : "is-wait", max: Math.max(all, 1), value: over, "aria-label": `${number(over)} of ${plural(all, "order", "orders")} ended`}),
    h("ul", {class: "tiles", "aria-label": "Orders by result"}, RESULTS.map((result) => tile(resultName(result), number(bulk[result]),
      {kind: result === "failed" && Number(bulk.failed) > 0 ? "is-bad" : "", href: Number(bulk[result]) > 0 ? resultHref({result}) : null}))));
}

function facts(bulk) {
  return h("dl", {class: "facts"},
    fact("bulk action", h("span", {class: "id"}, bulk.bulk_id)), fact("filter", Object.entries(bulk.filter).map(([name, value]) => `${name} ${value}`).join(", ") || "all failures"),
    fact("started", [`${bulk.by_whom}: ${bulk.reason} `, when(bulk.created_at)]), fact("ended", bulk.ended_at && when(bulk.ended_at)),
    fact("canary", `${plural(bulk.canary, "order", "orders")}${bulk.is_tried ? ", all successful" : ""}`), fact("rate", `${number(bulk.rate_per_s)} orders per second`),
    fact("stops", `if more than ${number(bulk.stop_percent)} % of the canary orders, or later of the last 50 orders, fail again`));
}

function buttons(bulk, again) {
  return mayAct() && h("p", {class: "row"}, WISHES.filter((each) => each.states.includes(bulk.state)).map((each) => actButton(each.name, {
    ...each, title: `${each.name}: bulk action on ${plural(bulk.orders, "order", "orders")}`, done: again,
    act: (reason) => post(`bulk/${bulk.bulk_id}/${each.wish}`, {reason, version: Number(bulk.version)}),
  })));
}

function orders(data, query) {
  const chosen = query.get("result") ?? "", filter = chosen ? {result: chosen} : {};
  return panel(chosen ? `Orders: ${resultName(chosen)}` : "Orders", chosen && h("p", {}, h("a", {class: "button", href: resultHref({})}, "All orders of the bulk action")),
  table("Orders of the bulk action", [
    {name: "order", cell: (row) => orderLink(row.order_id)},
    {name: "no.", number: true, cell: (row) => number(row.n)},
    {name: "result", brief: true, cell: (row) => badge(row.result)},
    {name: "current state", brief: true, cell: (row) => (row.state === null ? "" : badge(row.state))},
    {name: "started", brief: true, cell: (row) => ago(row.asked_at)},
    {name: "ended", brief: true, cell: (row) => ago(row.ended_at)},
    {name: "reason", cell: (row) => row.text ?? ""},
  ], data.orders, {empty: "None.", key: (row) => row.n}),
  data.next !== null && h("p", {}, h("a", {href: resultHref({...filter, after: data.next})}, "Next page")));
}

export async function show({main, query, path}) {
  const bulkId = decodeURIComponent(path.slice("/bulk/".length));
  const page = await lively(main, () => get(`bulk/${encodeURIComponent(bulkId)}`, {result: query.get("result"), after: query.get("after")}), (data, again) => {
    const {bulk} = data;
    return [h("div", {class: "head"}, h("h1", {}, bulkTitle(bulk)), badge(bulk.state)),
      h("section", {class: `panel verdict ${bulk.state === "stopped" ? "is-bad" : bulk.state === "done" ? "" : "is-wait"}`}, h("p", {}, STATE_TEXTS[bulk.state](bulk), bulk.why && ` Reason: ${bulk.why}.`),
        progress(bulk), !bulk.ended_at && runnerTell(data.runner[0]), buttons(bulk, again)),
      orders(data, query), panel("Details", facts(bulk))];
  }, ({bulk: before}, {bulk: after}) => (before.state === after.state ? "" : `the bulk action is now ${after.state}`));
  const end = watch({}, {
    // A change of the bulk action changes its figures, so it is read again. One that is not among the newest is always read
    // again.
    overview: ({bulk}) => {
      const fresh = bulk.find((row) => row.bulk_id === bulkId);
      if (fresh ? JSON.stringify(fresh) !== JSON.stringify(page.data.bulk) : !page.data.bulk.ended_at) page.again();
    },
  });
  return () => { page.stop(); end(); };
}
