// One bulk action: its progress, the result of each order, and its actions.
import {h, morph, badge, fact, number, orderLink, panel, plural, say, table, when} from "/dom.js";
import {get, mayAct, post} from "/api.js";
import {trouble, watch} from "/app.js";
import {actButton} from "/act.js";
import {VERB_TEXTS, runnerTell} from "/bulk_list.js";

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

function progress(bulk) {
  const over = Number(bulk.done) + Number(bulk.failed) + (bulk.state === "stopped" ? 0 : Number(bulk.skipped)), all = Number(bulk.orders);
  return h("div", {}, h("progress", {class: bulk.state === "stopped" ? "is-bad" : bulk.state === "done" ? null : "is-wait", max: Math.max(all, 1), value: over, "aria-label": `${number(over)} of ${plural(all, "order", "orders")} ended`}),
    h("ul", {class: "tiles", "aria-label": "Orders by result"}, RESULTS.map((result) =>
      h("li", {class: `tile ${result === "failed" && Number(bulk.failed) > 0 ? "is-bad" : ""}`}, h("span", {class: "soft"}, result === "asked" ? "under way" : result), h("b", {}, number(bulk[result]))))));
}

function facts(bulk) {
  const filter = Object.entries(bulk.filter).map(([name, value]) => `${name} ${value}`).join(", ");
  return h("dl", {class: "facts"},
    fact("action", `${VERB_TEXTS[bulk.verb]} ${plural(bulk.orders, "order", "orders")}`), fact("filter", filter || "all failures"),
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
  const chosen = query.get("result") ?? "";
  const href = (parameters) => `?${new URLSearchParams(parameters)}`;
  const path = location.pathname;
  return panel("Orders", h("p", {class: "row"}, ["", ...RESULTS].map((result) => h("a", {class: "button", href: path + (result ? href({result}) : ""), "aria-current": result === chosen ? "true" : null},
    result === "" ? "all" : result === "asked" ? "under way" : result))),
  table("Orders of the bulk action", [
    {name: "order", cell: (row) => orderLink(row.order_id)},
    {name: "no.", number: true, cell: (row) => number(row.n)},
    {name: "result", brief: true, cell: (row) => badge(row.result)},
    {name: "current state", brief: true, cell: (row) => (row.state === null ? "" : badge(row.state))},
    {name: "started", brief: true, cell: (row) => when(row.asked_at)},
    {name: "ended", brief: true, cell: (row) => when(row.ended_at)},
    {name: "reason", cell: (row) => row.text ?? ""},
  ], data.orders, {empty: "None.", key: (row) => row.n}),
  data.next !== null && h("p", {}, h("a", {href: path + href({...(chosen ? {result: chosen} : {}), after: data.next})}, "Next page")));
}

export async function show({main, query, path}) {
  const bulkId = decodeURIComponent(path.slice("/bulk/".length));
  const read = () => get(`bulk/${encodeURIComponent(bulkId)}`, {result: query.get("result"), after: query.get("after")});
  let data = await read(), isAsking = false, isStopped = false;

  const draw = () => {
    const {bulk} = data;
    morph(main, h("div", {},
      h("div", {class: "head"}, h("h1", {}, "Bulk action ", h("span", {class: "id"}, bulkId)), badge(bulk.state)),
      h("section", {class: `panel verdict ${bulk.state === "stopped" ? "is-bad" : bulk.state === "done" ? "" : "is-wait"}`}, h("p", {}, STATE_TEXTS[bulk.state](bulk), bulk.why && ` Reason: ${bulk.why}.`),
        progress(bulk), !bulk.ended_at && runnerTell(data.runner[0]), buttons(bulk, again)),
      orders(data, query), panel("Details", facts(bulk))));
  };
  async function again() {
    if (isAsking) return;
    isAsking = true;
    try {
      const {state} = data.bulk;
      data = await read();
      trouble("");
      if (!isStopped) draw();
      if (data.bulk.state !== state) say(`the bulk action is now ${data.bulk.state}`);
    } catch (error) {
      trouble(`This page is out of date: ${error.message}.`);
    } finally {
      isAsking = false;
    }
  }
  draw();
  const stop = watch({}, {
    // A change of the bulk action changes its figures, so it is read again. One that is not among the newest is always read
    // again.
    overview: ({bulk}) => {
      const fresh = bulk.find((row) => row.bulk_id === bulkId);
      trouble("");
      if (fresh ? JSON.stringify(fresh) !== JSON.stringify(data.bulk) : !data.bulk.ended_at) again();
    },
  });
  return () => { isStopped = true; stop(); };
}
