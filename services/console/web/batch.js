// One batch: its progress, the result of each order, and its actions.
import {h, morph, badge, fact, number, orderLink, panel, plural, say, table, when} from "/dom.js";
import {get, mayAct, post} from "/api.js";
import {trouble, watch} from "/app.js";
import {actButton} from "/act.js";
import {VERB_TEXTS, runnerTell} from "/batches.js";

const RESULTS = ["waiting", "asked", "done", "failed", "skipped"];
const STATE_TEXTS = {
  canary: (batch) => `The first ${plural(batch.canary, "order is", "orders are")} tried; the other orders wait for the result.`,
  running: (batch) => `The batch starts ${number(batch.rate_per_s)} orders per second.`,
  paused: () => "The batch is paused: no further orders are started; orders under way continue.",
  stopped: () => "The batch is stopped permanently; orders under way continue.",
  done: () => "The batch has ended.",
};
const WISHES = [
  {wish: "pause", name: "Pause", states: ["canary", "running"], text: "No further orders are started; orders under way continue."},
  {wish: "resume", name: "Resume", states: ["paused"], text: "The batch starts orders again, at the same rate as before."},
  {wish: "stop", name: "Stop permanently", states: ["canary", "running", "paused"], isHarm: true, text: "Waiting orders are skipped and stay unchanged; orders under way continue."},
];

function progress(batch) {
  const over = Number(batch.done) + Number(batch.failed) + Number(batch.skipped), all = Number(batch.orders);
  return h("div", {}, h("progress", {max: Math.max(all, 1), value: over, "aria-label": `${number(over)} of ${plural(all, "order", "orders")} ended`}),
    h("ul", {class: "tiles", "aria-label": "Orders by result"}, RESULTS.map((result) =>
      h("li", {class: `tile ${result === "failed" && Number(batch.failed) > 0 ? "is-bad" : ""}`}, h("span", {class: "soft"}, result === "asked" ? "under way" : result), h("b", {}, number(batch[result]))))));
}

function facts(batch) {
  const filter = Object.entries(batch.filter).map(([name, value]) => `${name} ${value}`).join(", ");
  return h("dl", {class: "facts"},
    fact("action", `${VERB_TEXTS[batch.verb]} ${plural(batch.orders, "order", "orders")}`), fact("filter", filter || "all failures"),
    fact("started", [`${batch.by_whom}: ${batch.reason} `, when(batch.created_at)]), fact("ended", batch.ended_at && when(batch.ended_at)),
    fact("canary", `${plural(batch.canary, "order", "orders")}${batch.is_tried === "t" ? ", all successful" : ""}`), fact("rate", `${number(batch.rate_per_s)} orders per second`),
    fact("stops", `if more than ${number(batch.stop_percent)} % of the canary orders, or later of the last 50 orders, fail again`));
}

function buttons(batch, again) {
  return mayAct() && h("p", {class: "row"}, WISHES.filter((each) => each.states.includes(batch.state)).map((each) => actButton(each.name, {
    ...each, title: `${each.name}: batch of ${plural(batch.orders, "order", "orders")}`, done: again,
    act: (reason) => post(`batches/${batch.batch_id}/${each.wish}`, {reason, version: Number(batch.version)}),
  })));
}

function orders(data, query) {
  const chosen = query.get("result") ?? "";
  const href = (parameters) => `?${new URLSearchParams(parameters)}`;
  const path = location.pathname;
  return panel("Orders", h("p", {class: "row"}, ["", ...RESULTS].map((result) => h("a", {class: "button", href: path + (result ? href({result}) : ""), "aria-current": result === chosen ? "true" : null},
    result === "" ? "all" : result === "asked" ? "under way" : result))),
  table("Orders of the batch", [
    {name: "order", cell: (row) => orderLink(row.order_id)},
    {name: "no.", number: true, cell: (row) => number(row.n)},
    {name: "result", cell: (row) => badge(row.result)},
    {name: "current state", cell: (row) => (row.state === null ? "" : badge(row.state))},
    {name: "started", cell: (row) => when(row.asked_at, {ms: true})},
    {name: "ended", cell: (row) => when(row.ended_at, {ms: true})},
    {name: "reason", cell: (row) => row.text ?? ""},
  ], data.orders, {empty: "None.", key: (row) => row.n}),
  data.next !== null && h("p", {}, h("a", {href: path + href({...(chosen ? {result: chosen} : {}), after: data.next})}, "Next page")));
}

export async function show({main, query, path}) {
  const batchId = decodeURIComponent(path.slice("/batches/".length));
  const read = () => get(`batches/${encodeURIComponent(batchId)}`, {result: query.get("result"), after: query.get("after")});
  let data = await read(), isAsking = false, isStopped = false;

  const draw = () => {
    const {batch} = data;
    morph(main, h("div", {},
      h("div", {class: "head"}, h("h1", {}, "Batch ", h("span", {class: "id"}, batchId)), badge(batch.state)),
      h("section", {class: `panel verdict ${batch.state === "stopped" ? "is-bad" : batch.state === "done" ? "" : "is-wait"}`}, h("p", {}, STATE_TEXTS[batch.state](batch), batch.why && ` Reason: ${batch.why}.`),
        progress(batch), !batch.ended_at && runnerTell(data.runner[0]), buttons(batch, again)),
      orders(data, query), panel("Details", facts(batch))));
  };
  async function again() {
    if (isAsking) return;
    isAsking = true;
    try {
      const {state} = data.batch;
      data = await read();
      trouble("");
      if (!isStopped) draw();
      if (data.batch.state !== state) say(`the batch is now ${data.batch.state}`);
    } catch (error) {
      trouble(`This page is out of date: ${error.message}.`);
    } finally {
      isAsking = false;
    }
  }
  draw();
  const stop = watch({}, {
    // A change of the batch changes its figures, so it is read again. A batch that is not among the newest is always
    // read again.
    overview: ({batches}) => {
      const fresh = batches.find((row) => row.batch_id === batchId);
      trouble("");
      if (fresh ? JSON.stringify(fresh) !== JSON.stringify(data.batch) : !data.batch.ended_at) again();
    },
  });
  return () => { isStopped = true; stop(); };
}
