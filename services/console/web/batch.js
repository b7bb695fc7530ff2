// One batch: its progress, the result of each order, and its actions.
import {h, morph, badge, fact, number, orderLink, panel, plural, say, table, when} from "/dom.js";
import {get, mayAct, post} from "/api.js";
import {trouble, watch} from "/app.js";
import {actButton} from "/act.js";
import {VERB_TEXTS, runnerTell} from "/batches.js";

const RESULTS = ["waiting", "asked", "done", "failed", "skipped"];
const STATE_TEXTS = {
  canary: (batch) => `Its first ${plural(batch.canary, "order is", "orders are")} tried; the others wait for them.`,
  running: (batch) => `Its orders are asked for, ${number(batch.rate_per_s)} a second.`,
  paused: () => "It is paused: no more orders are asked for, those under way go on.",
  stopped: () => "It is stopped for good; orders under way go on.",
  done: () => "It has ended.",
};
const WISHES = [
  {wish: "pause", name: "Pause", states: ["canary", "running"], text: "No more orders are asked for; those under way go on."},
  {wish: "resume", name: "Go on", states: ["paused"], text: "Its orders are asked for again, as gently as before."},
  {wish: "stop", name: "Stop for good", states: ["canary", "running", "paused"], isHarm: true, text: "Orders that wait are skipped and stay as they are; those under way go on."},
];

function progress(batch) {
  const over = Number(batch.done) + Number(batch.failed) + Number(batch.skipped), all = Number(batch.orders);
  return h("div", {}, h("progress", {max: Math.max(all, 1), value: over, "aria-label": `${number(over)} of ${plural(all, "order", "orders")} ended`}),
    h("ul", {class: "tiles", "aria-label": "Its orders by what became of them"}, RESULTS.map((result) =>
      h("li", {class: `tile ${result === "failed" && Number(batch.failed) > 0 ? "is-bad" : ""}`}, h("span", {class: "soft"}, result === "asked" ? "under way" : result), h("b", {}, number(batch[result]))))));
}

function facts(batch) {
  const filter = Object.entries(batch.filter).map(([name, value]) => `${name} ${value}`).join(", ");
  return h("dl", {class: "facts"},
    fact("what", `${VERB_TEXTS[batch.verb]} ${plural(batch.orders, "order", "orders")}`), fact("which failures", filter || "all of them"),
    fact("started", [`${batch.by_whom}: ${batch.reason} `, when(batch.created_at)]), fact("ended", batch.ended_at && when(batch.ended_at)),
    fact("first", `${plural(batch.canary, "order", "orders")}${batch.is_tried === "t" ? ", which went well" : ""}`), fact("then", `${number(batch.rate_per_s)} a second`),
    fact("stops by itself", `when more than ${number(batch.stop_percent)} % of these, or later of the last 50, fail again`));
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
  return panel("Its orders", h("p", {class: "row"}, ["", ...RESULTS].map((result) => h("a", {class: "button", href: path + (result ? href({result}) : ""), "aria-current": result === chosen ? "true" : null},
    result === "" ? "all" : result === "asked" ? "under way" : result))),
  table("Orders of the batch", [
    {name: "order", cell: (row) => orderLink(row.order_id)},
    {name: "no.", number: true, cell: (row) => number(row.n)},
    {name: "result", cell: (row) => badge(row.result)},
    {name: "it is now", cell: (row) => (row.state === null ? "" : badge(row.state))},
    {name: "asked for", cell: (row) => when(row.asked_at, {ms: true})},
    {name: "ended", cell: (row) => when(row.ended_at, {ms: true})},
    {name: "why", cell: (row) => row.text ?? ""},
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
      h("section", {class: `panel verdict ${batch.state === "stopped" ? "is-bad" : batch.state === "done" ? "" : "is-wait"}`}, h("p", {}, STATE_TEXTS[batch.state](batch), batch.why && ` Why: ${batch.why}.`),
        progress(batch), !batch.ended_at && runnerTell(data.runner[0]), buttons(batch, again)),
      orders(data, query), panel("What it is", facts(batch))));
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
      trouble(`What you see is old: ${error.message}.`);
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
