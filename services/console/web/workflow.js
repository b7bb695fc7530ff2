// One workflow: the picture of its newest version, its versions, and the states of each step in the orders of the last day.
import {h, ago, number, panel, plural, table} from "/dom.js";
import {get, mayAct} from "/api.js";
import {graphShow} from "/graph.js";
import {STATE_COLUMNS, openLink, ordersHref} from "/workflows.js";

export async function show({main, path}) {
  const name = decodeURIComponent(path.slice("/workflows/".length));
  const [{workflow, graph}, {workflows, steps, is_cut: isCut}] = await Promise.all([get(`workflows/${encodeURIComponent(name)}`), get("workflows")]);
  const lookedAt = steps.length > 0 ? Number(steps[0].looked_at) : 0;
  main.append(
    h("div", {class: "head"}, h("h1", {}, "Workflow ", name), h("p", {class: "row"}, h("a", {class: "button", href: ordersHref({workflow: name})}, "Its orders"),
      mayAct() && h("a", {class: "button first", href: `/post?${new URLSearchParams({workflow: name})}`}, "Post an order"))),
    graphShow(graph, [], []) ?? panel("Picture", h("p", {class: "soft"}, "The definition cannot be read.")),
    panel("Steps", table(`Steps of ${name}`, [
      {name: "step", cell: (row) => row.step},
      ...STATE_COLUMNS,
    ], steps.filter((row) => row.workflow === name), {empty: "No order of the last day has begun a step.", key: (row) => row.step}),
    h("p", {class: "soft"}, `Counted in ${isCut ? `the newest ${number(lookedAt)} orders` : `all ${plural(lookedAt, "order", "orders")}`} of the last day, of all workflows.`)),
    panel("Versions", table(`Versions of ${name}`, [
      {name: "version", cell: (row) => `${row.version}${row.version === workflow.version ? ", the newest" : ""}`},
      {name: "loaded", brief: true, cell: (row) => ago(row.loaded_at)},
      {name: "open orders", number: true, cell: openLink},
    ], workflows.filter((row) => row.name === name).reverse(), {key: (row) => row.version})));
}
