// Steps that wait for a signal, the longest first: the question, its time-out, the signatures, and the buttons to answer.
// /waiting/ORDER has those of one order: the address for a mail.
import {h, ago, bytes, fact, morph, number, orderLink, panel, say, table} from "/dom.js";
import {commandIdMake, get, mayAct, post} from "/api.js";
import {trouble, watch} from "/app.js";
import {actButton} from "/act.js";
import {jsonRead} from "/json_text.js";

const OVER = {fail: "then the step fails", skip: "then it is skipped"};
const MEMBERS_SHOWN = 6;
const PAYLOAD = {name: "payload", label: "Payload (JSON)", value: "true", required: true};

/** The acts of one step: its choices, or a field for JSON. A second click of one dialog is the same signal. The answer counts only
 * for the question in `row`: an open dialog closes its button once that is gone or changed. */
function answers(row, again, isAsked) {
  if (!row.may_sign) return h("span", {class: "soft"}, "Only other senders may answer.");
  if (!mayAct()) return h("span", {class: "soft"}, "You have read-only access.");
  const act = (name, payload, isFirst = false) => {
    const commandId = commandIdMake();
    return actButton(name, {isFirst,
      title: `${name}: ${row.title ?? `step ${row.step}`}`, fields: payload === null ? [PAYLOAD] : [],
      text: `Order ${row.order_id} receives the signal ${row.signal}${row.of > 1 ? `, signed by you. It needs ${number(row.of)} of different people and has ${number(row.counted)}` : ""}.`,
      act: (reason, fields) => post(`orders/${encodeURIComponent(row.order_id)}/signal`, {reason, signal: row.signal, payload: payload ?? fields.payload, shown: row.shown, command_id: commandId}),
      done: again, fault: () => (isAsked(row) ? "" : "The question has changed, or is answered: close this, and look again."),
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

const columns = (again, isAsked) => [
  {name: "order", cell: (row) => [orderLink(row.order_id), labels(row) !== "" && h("div", {class: "soft"}, labels(row))]},
  {name: "question", wide: true, cell: (row) => [h("strong", {}, row.title ?? `Signal ${row.signal ?? "unknown"}`), h("div", {class: "soft"}, `${row.workflow}, step ${row.step}`)]},
  {name: "since", brief: true, cell: (row) => ago(row.since)},
  {name: "until", cell: (row) => [ago(row.until), row.on_timeout && h("div", {class: "soft"}, OVER[row.on_timeout])]},
  {name: "signed", brief: true, cell: signatures},
  {name: "payload", wide: true, cell: payloadShow},
  {name: "answer", cell: (row) => (row.signal === null ? h("span", {class: "soft"}, "Its definition cannot be read.") : answers(row, again, isAsked))},
];

export async function show({main, path, query}) {
  const order = decodeURIComponent(path.slice("/waiting/".length)), list = h("div");
  const filter = {order, signal: query.get("signal") ?? "", workflow: query.get("workflow") ?? ""};
  let pages = [await get("waiting", filter)], isAsking = false, isStopped = false;
  const rowsOf = () => pages.flatMap((page) => page.waiting);
  const isAsked = (row) => rowsOf().some((now) => now.order_id === row.order_id && now.step === row.step && now.shown === row.shown);

  /** Reads the pages that are shown once more, and so many further ones. */
  async function again(more = 0) {
    if (isAsking) return;
    isAsking = true;
    try {
      const fresh = [await get("waiting", filter)];
      while (fresh.length < pages.length + more && fresh.at(-1).next !== null) fresh.push(await get("waiting", {...filter, after: fresh.at(-1).next}));
      pages = fresh;
      trouble("");
      if (!isStopped) draw();
    } catch (error) {
      if (!isStopped) trouble(`This page is out of date: ${error.message}.`);
    } finally {
      isAsking = false;
    }
  }

  async function next() {
    const had = rowsOf().length;
    await again(1);
    say(`${rowsOf().length - had} more`);
  }

  function draw() {
    const rows = rowsOf(), hasMore = pages.at(-1).next !== null;
    morph(list, h("div", {}, table("Waiting", columns(() => again(), isAsked), rows, {
      empty: order !== "" ? "This order does not wait for a signal now." : hasMore ? "No match so far." : "No step waits for a signal.",
      key: (row) => `${row.order_id} ${row.step} ${row.shown}`}),
    hasMore && h("p", {class: "row"}, h("button", {type: "button", onclick: next}, rows.length === 0 ? "Search further" : "More"))));
  }
  main.append(h("h1", {}, order === "" ? "Waiting" : ["Waiting: order ", orderLink(order)]),
    panel("For a signal, the longest first", list, order !== "" && h("p", {}, h("a", {class: "button", href: "/waiting"}, "All that wait"))));
  draw();
  const stop = watch({}, {overview: () => again()});
  return () => { isStopped = true; stop(); };
}
