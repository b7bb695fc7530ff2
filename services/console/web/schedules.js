// Schedules: the next time of each, and the end of its last slot.
import {h, ago, badge, number, panel, table} from "/dom.js";
import {get} from "/api.js";

/** Words for the end of a slot. */
export const ENDS = {order: "an order", overlap: "skipped: an earlier order had not ended", missed: "missed: fired too late", refused: "refused"};

const scheduleLink = (name) => h("a", {href: `/schedules/${encodeURIComponent(name)}`}, name);

export async function show({main}) {
  const {schedules} = await get("schedules");
  main.append(h("h1", {}, "Schedules"), schedules.length === 0 ? panel("None", h("p", {class: "soft"}, "No schedule is loaded: makegood schedule load FILE."))
    : h("section", {class: "panel"}, table("Schedules", [
      {name: "schedule", cell: (row) => scheduleLink(row.schedule)},
      {name: "workflow", cell: (row) => row.workflow},
      {name: "state", cell: (row) => badge(row.is_paused ? "paused" : row.next_at === null ? "over" : "active")},
      {name: "next", cell: (row) => (row.next_at === null ? "none" : ago(row.next_at))},
      {name: "in its zone", cell: (row) => (row.next_local === null ? "" : `${row.next_local}, ${row.zone}`)},
      {name: "last slot", cell: (row) => (row.last_slot === null ? "" : [ago(row.last_slot), ` ${ENDS[row.last_end]}`])},
      {name: "without an order", number: true, cell: (row) => number(row.skipped)},
    ], schedules, {empty: "None.", key: (row) => row.schedule})));
}
