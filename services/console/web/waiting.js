// Steps that wait for a signal, the longest first: the question, its time-out, the signatures, and the buttons to answer.
// /waiting/ORDER has those of one order: the address for a mail.
import {h, bytes, morph, number, orderLink, panel, say, table, when} from "/dom.js";
import {commandIdMake, get, mayAct, post} from "/api.js";
import {moreButton, trouble, watch} from "/app.js";
import {actButton} from "/act.js";

const OVER = {fail: "then the step fails", skip: "then it is skipped"};
const PAYLOAD = {name: "payload", label: "Payload (JSON)", value: "true", required: true};

/** The acts of one step: its choices, or a field for JSON. A second click of one dialog is the same signal. The answer counts only
 * for the question in `row`: an open dialog closes its button once that is gone or changed. */
function answers(row, again, isAsked) {
  if (!row.may_sign) return h("span", {class: "soft"}, "Only other senders may answer.");
  if (!mayAct()) return h("span", {class: "soft"}, "You have read-only access.");
  const act = (name, payload) => {
    const commandId = commandIdMake();
    return actButton(name, {
      title: `${name}: ${row.title ?? `step ${row.step}`}`, fields: payload === null ? [PAYLOAD] : [],
      text: `Order ${row.order_id} receives the signal ${row.signal}${row.of > 1 ? `, signed by you. It needs ${number(row.of)} of different people and has ${number(row.counted)}` : ""}.`,
      act: (reason, fields) => post(`orders/${encodeURIComponent(row.order_id)}/signal`, {reason, signal: row.signal, payload: payload ?? fields.payload, shown: row.shown, command_id: commandId}),
      done: again, fault: () => (isAsked(row) ? "" : "The question has changed, or is answered: close this, and look again."),
    });
  };
  return h("div", {class: "row"}, row.choices.length > 0 ? row.choices.map(({word, payload}) => act(word, payload)) : act("Answer", null));
}

const signatures = (row) => `${number(row.counted)} of ${number(row.of)}${row.signed_by ? `, by ${row.signed_by}` : ""}`;
const labels = (row) => Object.entries(row.labels ?? {}).map(([name, value]) => `${name}=${value}`).join(", ");

const columns = (again, isAsked) => [
  {name: "order", cell: (row) => [orderLink(row.order_id), labels(row) !== "" && h("div", {class: "soft"}, labels(row))]},
  {name: "question", cell: (row) => [h("strong", {}, row.title ?? `Signal ${row.signal ?? "unknown"}`), h("div", {class: "soft"}, `${row.workflow}, step ${row.step}`)]},
  {name: "since", cell: (row) => when(row.since, {relative: true})},
  {name: "until", cell: (row) => [when(row.until), row.on_timeout && h("div", {class: "soft"}, OVER[row.on_timeout])]},
  {name: "signed", cell: signatures},
  {name: "payload", cell: (row) => (row.payload === null ? h("span", {class: "soft"}, "on the order's page")
    : h("details", {}, h("summary", {}, "show"), bytes(`payload of ${row.order_id}`, row.payload)))},
  {name: "answer", cell: (row) => (row.signal === null ? h("span", {class: "soft"}, "Its definition cannot be read.") : answers(row, again, isAsked))},
];

export async function show({main, path, query}) {
  const order = decodeURIComponent(path.slice("/waiting/".length)), list = h("div");
  const filter = {order, signal: query.get("signal") ?? "", workflow: query.get("workflow") ?? ""};
  let pages = [await get("waiting", filter)], isAsking = false, isStopped = false;
  const rowsOf = () => pages.flatMap((page) => page.waiting);
  const isAsked = (row) => rowsOf().some((now) => now.order_id === row.order_id && now.step === row.step && now.shown === row.shown);

  /** The pages that are shown, read once more. */
  async function again() {
    if (isAsking) return;
    isAsking = true;
    try {
      const fresh = [await get("waiting", filter)];
      while (fresh.length < pages.length && fresh.at(-1).next !== null) fresh.push(await get("waiting", {...filter, after: fresh.at(-1).next}));
      pages = fresh;
      trouble("");
      if (!isStopped) draw();
    } catch (error) {
      if (!isStopped) trouble(`This page is out of date: ${error.message}.`);
    } finally {
      isAsking = false;
    }
  }

  function draw() {
    const rows = rowsOf(), {next} = pages.at(-1);
    const more = moreButton(rows.length === 0 ? "Search further" : "More", async () => {
      const page = await get("waiting", {...filter, after: next});
      if (pages.at(-1).next === next) pages = [...pages, page];
    }, () => {
      draw();
      say(`${rowsOf().length - rows.length} more`);
    });
    morph(list, h("div", {}, table("Waiting", columns(again, isAsked), rows, {
      empty: order !== "" ? "This order does not wait for a signal now." : next === null ? "No step waits for a signal." : "No match so far.",
      key: (row) => `${row.order_id} ${row.step} ${row.shown}`}), next !== null && h("p", {class: "row"}, more)));
  }
  main.append(h("h1", {}, order === "" ? "Waiting" : ["Waiting: order ", orderLink(order)]),
    panel("For a signal, the longest first", list,
      order !== "" && h("p", {}, h("a", {class: "button", href: "/waiting"}, "All that wait"))));
  draw();
  const stop = watch({}, {overview: again});
  return () => { isStopped = true; stop(); };
}
