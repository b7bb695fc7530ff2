// Open failures, counted by cause. All orders of one cause can be resumed as a bulk action.
import {h, number, orderLink, panel, plural, table} from "/dom.js";
import {get, mayAct, post, ticketMake} from "/api.js";
import {go} from "/app.js";
import {actButton} from "/act.js";
import {GROUP_COLUMNS, NONE} from "/overview.js";
import {incidentShow} from "/alerts.js";

const NOT_KNOWN = "not known"; // of failures recorded by an earlier version

/** The filter of a bulk action for one group, with the names of the tool's options. Without its "-" it would choose other groups, too. */
function filterOf(row, label) {
  const {workflow, error} = row, service = row.service || NONE;
  return {workflow, step: row.step || NONE, error, ...(service !== NOT_KNOWN && {service}), ...(label && {label})};
}

function choiceText(choice, row) {
  const left = [[choice.not_in_error, "no longer in error"], [choice.in_other_bulk, "in other bulk actions"], [choice.of_lost_state, "with lost state, which must be checked one by one"]]
    .filter(([count]) => Number(count) > 0).map(([count, why]) => `${number(count)} ${why}`);
  const taken = Number(choice.orders) > 0
    ? `The bulk action would take ${plural(choice.orders, "order", "orders")}, the oldest failure first. It starts with a few orders, and continues if all of these succeed.`
    : "No order is eligible.";
  const others = Number(choice.orders) > Number(row.count)
    ? " This is more than the row shows: the filter also matches codes of the same kind, and orders that failed since." : "";
  return `${taken}${others}${left.length > 0 ? ` Excluded: ${left.join(", ")}.` : ""}`;
}

function againButton(row, label, ticket) {
  const filter = filterOf(row, label);
  return actButton("Start a bulk action", {
    title: `Start a bulk action: ${row.error}`,
    prepare: async () => {
      const choice = await get("choice", filter);
      return {text: choiceText(choice, row), isImpossible: Number(choice.orders) === 0,
        act: (reason, fields) => post("bulk", {...filter, ...fields, orders: Number(choice.orders), reason, ticket})}; // not more than the operator saw
    },
    fields: [
      {name: "verb", label: "action", choices: [["resume", "resume: retry the failed step"], ["compensate", "compensate: undo the executed steps"], ["cancel", "cancel: undo the executed steps, and send the client the status cancelled"]]},
      {name: "canary", label: "canary: orders that are tried first", type: "number", value: "5", min: 0, max: 10000, required: true},
      {name: "rate", label: "rate: orders per second after these", type: "number", value: "5", min: 0.001, max: 1000, step: "any", required: true},
      {name: "stop_above", label: "stop if more than this percentage fails again", type: "number", value: "10", min: 0, max: 100, required: true},
    ],
    done: (started) => go(`/bulk/${started.bulk_id}`),
  });
}

export async function show({main, query}) {
  const label = query.get("label") ?? "";
  const data = await get("failures", {label});
  const ticket = ticketMake(); // one for each page: a second click or a lost answer makes no second bulk action
  main.append(h("h1", {}, "Failures"),
    h("p", {}, "Orders that need an operator, counted by cause. A cause is the code of an error: the kind of failure, and behind the slash the service's own code."),
    label && h("p", {}, "Only orders with ", h("strong", {}, label), ". ", h("a", {href: "/failures"}, "Show all failures")),
    panel("By cause", table("Failures by cause", [
      ...GROUP_COLUMNS,
      {name: "example", cell: (row) => orderLink(row.example)},
      ...(mayAct() ? [{name: "action", cell: (row) => h("span", {class: "row"}, againButton(row, label, ticket),
        h("button", {type: "button", onclick: () => incidentShow({...row, code: row.error})}, "Copy report"))}] : []),
    ], data.groups, {empty: "No failures: no order needs an operator."}),
    data.is_full && h("p", {class: "soft"}, `Counted in the newest ${number(data.looked_at)} failures, back to ${data.back_to}.`),
    data.is_cut && h("p", {class: "soft"}, "These are the largest groups; there are more.")));
}
