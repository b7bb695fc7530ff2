// What is stuck and why: failures that stand open, counted by their cause.
import {h, number, orderLink, panel, table, when} from "/dom.js";
import {get} from "/api.js";
import {groupHref} from "/overview.js";

export async function show({main}) {
  const data = await get("failures");
  main.append(h("h1", {}, "Failures"),
    h("p", {}, "Orders that a person must look after, counted by what went wrong. What differs from case to case in an error, as numbers and ids, stands as #."),
    panel("By cause", table("Failures by cause", [
      {name: "error", cell: (row) => h("a", {href: groupHref(row)}, row.error)},
      {name: "orders", number: true, cell: (row) => number(row.count)},
      {name: "workflow", cell: (row) => row.workflow},
      {name: "step", cell: (row) => row.step ?? "the order"},
      {name: "service", cell: (row) => row.service ?? ""},
      {name: "since", cell: (row) => when(row.oldest, {relative: true})},
      {name: "for example", cell: (row) => orderLink(row.example)},
    ], data.groups, {empty: "Nothing fails: no order waits for a person."}),
    data.is_full && h("p", {class: "soft"}, `Looked at the newest ${number(data.looked_at)} failures, back to ${data.back_to}.`),
    data.is_cut && h("p", {class: "soft"}, "These are the largest groups; there are more.")));
}
