// Open failures, counted by cause. All orders of one cause can be resumed as a batch.
import {h, number, orderLink, panel, plural, table} from "/dom.js";
import {get, mayAct, post, ticketMake} from "/api.js";
import {go} from "/app.js";
import {actButton} from "/act.js";
import {GROUP_COLUMNS} from "/overview.js";

const NOT_KNOWN = "not known"; // of failures recorded by an earlier version

/** The filter of a batch for one group, with the names of the tool's options. */
function filterOf(row) {
  const known = Object.entries({workflow: row.workflow, step: row.step, service: row.service, error: row.error});
  return Object.fromEntries(known.filter(([name, value]) => value && !(name === "service" && value === NOT_KNOWN)));
}

function choiceText(choice, row) {
  const left = [[choice.not_in_error, "not in error any more"], [choice.in_other_batches, "in other batches"], [choice.of_lost_state, "of lost state, which must be looked at one by one"]]
    .filter(([count]) => Number(count) > 0).map(([count, why]) => `${number(count)} ${why}`);
  const taken = Number(choice.orders) > 0
    ? `It would be ${plural(choice.orders, "order", "orders")}, the one that failed first begins. A few are tried; when all of them have gone well the others follow.`
    : "No order can be taken.";
  const others = Number(choice.orders) > Number(row.count)
    ? " These are more than the row shows: also those are taken whose error only has its text in it, or that failed since." : "";
  return `${taken}${others}${left.length > 0 ? ` Left out: ${left.join(", ")}.` : ""}`;
}

function againButton(row, ticket) {
  const filter = filterOf(row);
  return actButton("Make these go again", {
    title: `Start the batch: ${row.error}`,
    prepare: async () => {
      const choice = await get("choice", filter);
      return {text: choiceText(choice, row), isImpossible: Number(choice.orders) === 0,
        act: (reason, fields) => post("batches", {...filter, ...fields, orders: Number(choice.orders), reason, ticket})}; // not more than the operator saw
    },
    fields: [
      {name: "verb", label: "what is done to each", choices: [["resume", "resume: what failed is tried again"], ["compensate", "undo: what was done is undone"], ["cancel", "cancel: undone, and the client is told so"]]},
      {name: "canary", label: "orders that are tried first", type: "number", value: "5", min: 0, max: 10000, required: true},
      {name: "rate", label: "then so many a second", type: "number", value: "5", min: 0.001, max: 1000, step: "any", required: true},
      {name: "stop_above", label: "stops by itself when more per cent fail again", type: "number", value: "10", min: 0, max: 100, required: true},
    ],
    done: (started) => go(`/batches/${started.batch_id}`),
  });
}

export async function show({main}) {
  const data = await get("failures");
  const ticket = ticketMake(); // one for each page: a second click or a lost answer makes no second batch
  main.append(h("h1", {}, "Failures"),
    h("p", {}, "Orders that a person must look after, counted by what went wrong. What differs from case to case in an error, as numbers and ids, stands as #."),
    panel("By cause", table("Failures by cause", [
      ...GROUP_COLUMNS,
      {name: "for example", cell: (row) => orderLink(row.example)},
      ...(mayAct() ? [{name: "what to do", cell: (row) => againButton(row, ticket)}] : []),
    ], data.groups, {empty: "Nothing fails: no order waits for a person."}),
    data.is_full && h("p", {class: "soft"}, `Looked at the newest ${number(data.looked_at)} failures, back to ${data.back_to}.`),
    data.is_cut && h("p", {class: "soft"}, "These are the largest groups; there are more.")));
}
