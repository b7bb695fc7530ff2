// Steps that wait for a signal, the longest first: the question, its time-out, the signatures, and the buttons to answer.
// /waiting/ORDER has those of one order: the address for a mail.
import {h, ago, bytes, fact, number, orderLink, table} from "/dom.js";
import {clickMake, get, mayAct, post} from "/api.js";
import {reload} from "/app.js";
import {pagedPanel} from "/list.js";
import {actButton} from "/act.js";
import {jsonRead} from "/json_text.js";

const OVER = {fail: "then the step fails", skip: "then it is skipped"};
const MEMBERS_SHOWN = 6;
const PAYLOAD = {name: "payload", label: "Payload (JSON)", value: "true", required: true};

/** The acts of one step: its choices, or a field for JSON. A second click of one dialog is the same signal. */
function answers(row) {
  if (!row.may_sign) return h("span", {class: "soft"}, "Only other senders may answer.");
  if (!mayAct()) return h("span", {class: "soft"}, "You have read-only access.");
  const act = (name, payload, isFirst = false) => {
    const commandId = clickMake();
    return actButton(name, {isFirst,
      title: `${name}: ${row.title ?? `step ${row.step}`}`, fields: payload === null ? [PAYLOAD] : [],
      text: `Order ${row.order_id} receives the signal ${row.signal}${row.of > 1 ? `, signed by you. It needs ${number(row.of)} of different people and has ${number(row.counted)}` : ""}.`,
      act: (reason, fields) => post(`orders/${encodeURIComponent(row.order_id)}/signal`, {reason, signal: row.signal, payload: payload ?? fields.payload, command_id: commandId}),
      done: reload,
    });
  };
  return h("div", {class: "row answers"}, row.choices.length > 0 ? row.choices.map(({word, payload}, index) => act(word, payload, index === 0)) : act("Answer", null, true));
}

const signatures = (row) => `${number(row.counted)} of ${number(row.of)}${row.signed_by ? `, by ${row.signed_by}` : ""}`;
const labels = (row) => Object.entries(row.labels ?? {}).map(([name, value]) => `${name}=${value}`).join(", ");

/** The plain members of the payload, so that a person can decide; the whole is folded. */
function payloadShow(row) {
  if (row.payload === null) return h("span", {class: "soft"}, "on the order's page");
  const {members = new Map()} = jsonRead(row.payload);
  const plain = [...members].filter(([, {kind}]) => kind === "word").slice(0, MEMBERS_SHOWN);
  return [plain.length > 0 && h("dl", {class: "flow"}, plain.map(([name, {text}]) => fact(name, text.startsWith('"') ? JSON.parse(text) : text))),
    h("details", {}, h("summary", {}, "all of it"), bytes(`payload of ${row.order_id}`, row.payload))];
}

const COLUMNS = [
  {name: "order", cell: (row) => [orderLink(row.order_id), labels(row) !== "" && h("div", {class: "soft"}, labels(row))]},
  {name: "question", wide: true, cell: (row) => [h("strong", {}, row.title ?? `Signal ${row.signal ?? "unknown"}`), h("div", {class: "soft"}, `${row.workflow}, step ${row.step}`)]},
  {name: "since", brief: true, cell: (row) => ago(row.since)},
  {name: "until", cell: (row) => [ago(row.until), row.on_timeout && h("div", {class: "soft"}, OVER[row.on_timeout])]},
  {name: "signed", brief: true, cell: signatures},
  {name: "payload", wide: true, cell: payloadShow},
  {name: "answer", cell: (row) => (row.signal === null ? h("span", {class: "soft"}, "Its definition cannot be read.") : answers(row))},
];

export async function show({main, path, query}) {
  const order = decodeURIComponent(path.slice("/waiting/".length));
  const filter = {order, signal: query.get("signal") ?? "", workflow: query.get("workflow") ?? ""};
  const list = pagedPanel("For a signal, the longest first", await get("waiting", filter), {
    rowsOf: (page) => page.waiting,
    show: (rows, page) => [table("Waiting", COLUMNS, rows, {
      empty: order !== "" ? "This order does not wait for a signal now." : page.next === null ? "No step waits for a signal." : "No match so far.",
      key: (row) => `${row.order_id} ${row.step}`})],
    ask: (after) => get("waiting", {...filter, after}),
  });
  main.append(h("h1", {}, order === "" ? "Waiting" : ["Waiting: order ", orderLink(order)]), list,
    ...(order === "" ? [] : [h("p", {}, h("a", {class: "button", href: "/waiting"}, "All that wait"))]));
}
