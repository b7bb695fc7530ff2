// Workflows: the stored versions, and the states of each step in the orders of the last day.
import {h, number, panel, plural, table, when} from "/dom.js";
import {get, mayAct} from "/api.js";
import {graphShow} from "/graph.js";

const STATES = ["done", "failed", "unknown", "waiting", "running", "undone", "skipped"];

function versionsTell(rows) {
  const newest = rows.at(-1), open = rows.filter((row) => Number(row.open_orders) > 0);
  return h("p", {class: "soft"}, `Newest version ${newest.version}, loaded `, when(newest.loaded_at), ". ",
    open.length === 0 ? "No order is open."
      : `Open orders: ${open.map((row) => `${number(row.open_orders)} of version ${row.version}`).join(", ")}.`);
}

/** The picture of the newest version, read when it is opened. */
function pictureFold(name) {
  const place = h("div", {}, h("p", {class: "soft"}, "Reading …"));
  let isRead = false;
  return h("details", {ontoggle: async () => {
    if (isRead) return;
    isRead = true;
    try {
      const {graph} = await get(`workflows/${encodeURIComponent(name)}`);
      place.replaceChildren(graphShow(graph, []) ?? h("p", {class: "soft"}, "The definition cannot be read."));
    } catch (error) {
      place.replaceChildren(h("p", {class: "failed"}, `The picture is not available: ${error.message}.`));
    }
  }}, h("summary", {}, "Picture"), place);
}

function workflowShow(name, rows, steps) {
  return panel(name, versionsTell(rows),
    h("p", {class: "row"}, h("a", {class: "button", href: `/orders?workflow=${encodeURIComponent(name)}`}, "Its orders"),
      mayAct() && h("a", {class: "button", href: `/post?workflow=${encodeURIComponent(name)}`}, "Post an order")),
    pictureFold(name),
    table(`Steps of ${name}`, [
      {name: "step", cell: (row) => row.step},
      ...STATES.map((state) => ({name: state, number: true, cell: (row) => h("span", {class: Number(row[state]) > 0 ? null : "soft"}, number(row[state]))})),
    ], steps, {empty: "No order of the last day has begun a step.", key: (row) => row.step}));
}

export async function show({main}) {
  const {workflows, steps, is_cut: isCut} = await get("workflows");
  const names = [...new Set(workflows.map((row) => row.name))];
  const lookedAt = steps.length > 0 ? Number(steps[0].looked_at) : 0;
  main.append(h("h1", {}, "Workflows"),
    h("p", {}, isCut ? `Steps are counted in the newest ${number(lookedAt)} orders of the last day.`
      : `Steps are counted in the orders of the last day: ${plural(lookedAt, "order", "orders")}.`),
    names.length === 0 ? panel("None", h("p", {class: "soft"}, "No workflow is loaded: makegood workflow load FILE."))
      : h("div", {}, names.map((name) => workflowShow(name, workflows.filter((row) => row.name === name), steps.filter((row) => row.workflow === name)))));
}
