// Workflows, a row for each: its newest version, its open orders, and the steps of the last day's orders.
import {h, ago, number, panel, table} from "/dom.js";
import {get, mayAct} from "/api.js";

const STEP_STATES = ["done", "failed", "unknown", "waiting", "running", "undone", "skipped"];

export const ordersHref = (filter) => `/orders?${new URLSearchParams(filter)}`;

/** A count that leads to the counted orders; 0 does not. */
export const countLink = (count, href) => (Number(count) === 0 ? h("span", {class: "soft"}, "0") : h("a", {href}, number(count)));

/** The open orders of a version; the list has those of all versions. */
export const openLink = (row) => countLink(row.open_orders, ordersHref({state: "open", workflow: row.name}));

/** A column for each state of steps; none stays empty. */
export const STATE_COLUMNS = STEP_STATES.map((state) => ({name: state, number: true, cell: (row) => Number(row[state]) > 0 && number(row[state])}));

/** One row for each workflow, from the rows of its versions and steps. */
function summaries(workflows, steps) {
  return [...new Set(workflows.map((row) => row.name))].map((name) => {
    const versions = workflows.filter((row) => row.name === name), own = steps.filter((row) => row.workflow === name);
    const sum = (rows, member) => rows.reduce((total, row) => total + Number(row[member]), 0);
    return {name, newest: versions.at(-1), open_orders: sum(versions, "open_orders"), ...Object.fromEntries(STEP_STATES.map((state) => [state, sum(own, state)]))};
  });
}

export async function show({main}) {
  const {workflows, steps, is_cut: isCut} = await get("workflows");
  main.append(h("div", {class: "head"}, h("h1", {}, "Workflows"), mayAct() && h("a", {class: "button", href: "/post"}, "Post an order")), panel("Steps of the last day", table("Workflows", [
    {name: "workflow", cell: (row) => h("a", {href: `/workflows/${encodeURIComponent(row.name)}`}, row.name)},
    {name: "version", number: true, cell: (row) => row.newest.version},
    {name: "loaded", brief: true, cell: (row) => ago(row.newest.loaded_at)},
    {name: "open orders", number: true, cell: openLink},
    ...STATE_COLUMNS,
  ], summaries(workflows, steps), {empty: "No workflow is loaded: makegood workflow load FILE.", key: (row) => row.name}),
  isCut && h("p", {class: "soft"}, `Counted in the newest ${number(steps[0].looked_at)} orders.`)));
}
