// Steps that wait for a signal, the longest first: the question, its time-out, the signatures, and the buttons to answer.
// /waiting/ORDER has those of one order: the address for a mail.
import {h, bytes, number, orderLink, panel, say, table, when} from "/dom.js";
import {get, mayAct, post} from "/api.js";
import {go, moreButton} from "/app.js";
import {actButton} from "/act.js";

const OVER = {fail: "then the step fails", skip: "then it is skipped"};
const PAYLOAD = {name: "payload", label: "Payload (JSON)", value: "true", required: true};

/** The acts of one step: its choices, or a field for JSON. A second click of one dialog is the same signal. */
function answers(row, again) {
  if (!row.may_sign) return h("span", {class: "soft"}, "Only other senders may answer.");
  if (!mayAct()) return h("span", {class: "soft"}, "You have read-only access.");
  const act = (name, payload) => {
    const commandId = crypto.randomUUID?.() ?? null;
    return actButton(name, {
      title: `${name}: ${row.title ?? `step ${row.step}`}`, fields: payload === null ? [PAYLOAD] : [],
      text: `Order ${row.order_id} receives the signal ${row.signal}${row.of > 1 ? `, signed by you. It needs ${number(row.of)} of different people and has ${number(row.counted)}` : ""}.`,
      act: (reason, fields) => post(`orders/${encodeURIComponent(row.order_id)}/signal`, {reason, signal: row.signal, payload: payload ?? fields.payload, command_id: commandId}),
      done: again,
    });
  };
  return h("div", {class: "row"}, row.choices.length > 0 ? row.choices.map(({word, payload}) => act(word, payload)) : act("Answer", null));
}

const signatures = (row) => `${number(row.counted)} of ${number(row.of)}${row.signed_by ? `, by ${row.signed_by}` : ""}`;
const labels = (row) => Object.entries(row.labels ?? {}).map(([name, value]) => `${name}=${value}`).join(", ");

const columns = (again) => [
  {name: "order", cell: (row) => [orderLink(row.order_id), labels(row) !== "" && h("div", {class: "soft"}, labels(row))]},
  {name: "question", cell: (row) => [h("strong", {}, row.title ?? `Signal ${row.signal ?? "unknown"}`), h("div", {class: "soft"}, `${row.workflow}, step ${row.step}`)]},
  {name: "since", cell: (row) => when(row.since, {relative: true})},
  {name: "until", cell: (row) => [when(row.until), row.on_timeout && h("div", {class: "soft"}, OVER[row.on_timeout])]},
  {name: "signed", cell: signatures},
  {name: "payload", cell: (row) => (row.payload === null ? h("span", {class: "soft"}, "on the order's page")
    : h("details", {}, h("summary", {}, "show"), bytes(`payload of ${row.order_id}`, row.payload)))},
  {name: "answer", cell: (row) => (row.signal === null ? h("span", {class: "soft"}, "Its definition cannot be read.") : answers(row, again))},
];

export async function show({main, path, query}) {
  const order = decodeURIComponent(path.slice("/waiting/".length)), list = h("div"), rows = [];
  const filter = {order, signal: query.get("signal") ?? "", workflow: query.get("workflow") ?? ""};
  let page = await get("waiting", filter);
  const again = () => go(location.pathname + location.search, {keepsFocus: true});

  const draw = () => {
    rows.push(...page.waiting);
    const had = rows.length;
    const more = moreButton(had === 0 ? "Search further" : "More", async () => {
      page = await get("waiting", {...filter, after: page.next});
    }, () => {
      draw();
      say(`${rows.length - had} more`);
    });
    list.replaceChildren(table("Waiting", columns(again), rows, {
      empty: order !== "" ? "This order does not wait for a signal now." : page.next === null ? "No step waits for a signal." : "No match so far.",
      key: (row) => `${row.order_id} ${row.step}`}),
    ...[page.next !== null && h("p", {class: "row"}, more)].filter(Boolean));
  };
  main.append(h("h1", {}, order === "" ? "Waiting" : ["Waiting: order ", orderLink(order)]),
    panel("For a signal, the longest first", list,
      order !== "" && h("p", {}, h("a", {class: "button", href: "/waiting"}, "All that wait"))));
  draw();
}
