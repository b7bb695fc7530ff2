// One schedule: its next times, the ends of its slots, its definition, and its actions.
import {h, badge, bytes, fact, number, orderLink, panel, table, when} from "/dom.js";
import {get, mayAct, post} from "/api.js";
import {reload} from "/app.js";
import {actButton} from "/act.js";
import {ENDS} from "/schedules.js";

function buttons(schedule) {
  const send = (verb, more) => (reason) => post(`schedules/${encodeURIComponent(schedule.schedule)}/${verb}`, {reason, ...more});
  const version = Number(schedule.version);
  return h("p", {class: "row"},
    schedule.is_paused
      ? actButton("Resume", {title: `Resume schedule ${schedule.schedule}`, text: "It makes orders again, from its next slot on. The slots of the pause are past.", act: send("resume", {version}), done: reload})
      : actButton("Pause", {title: `Pause schedule ${schedule.schedule}`, text: "It makes no order until it is resumed. Its orders under way continue.", act: send("pause", {version}), done: reload}),
    actButton("Run now", {title: `Run schedule ${schedule.schedule} now`, text: "It makes an order now, as if this moment were a slot. While an earlier order has not ended, its overlap decides.", done: reload,
      prepare: async () => ({act: send("run", {slot: Math.round((await get("overview")).now_ms)})})})); // one dialog, one slot: a second click makes no second order
}

export async function show({main, path}) {
  const name = decodeURIComponent(path.slice("/schedules/".length));
  const {schedule, runs} = await get(`schedules/${encodeURIComponent(name)}`);
  main.append(h("div", {class: "head"}, h("h1", {}, "Schedule ", schedule.schedule), badge(schedule.is_paused ? "paused" : schedule.next_at === null ? "over" : "active")),
    panel("Next times", schedule.upcoming.length === 0 ? h("p", {class: "soft"}, "There is no slot any more.")
      : h("ol", {}, schedule.upcoming.map((at) => h("li", {}, when(at)))),
    h("dl", {class: "facts"},
      fact("workflow", schedule.workflow),
      fact("zone", schedule.zone),
      schedule.next_local !== null && fact("the next one there", schedule.next_local),
      fact("slots without an order", number(schedule.skipped)),
      fact("changed", [`${schedule.by_whom}: ${schedule.reason} `, when(schedule.changed_at)])),
    mayAct() && buttons(schedule)),
    panel("Slots", table(`Slots of ${schedule.schedule}`, [
      {name: "slot", cell: (row) => when(row.slot)},
      {name: "became", cell: (row) => `${ENDS[row.end]}${Number(row.slots) > 1 ? ` (${number(row.slots)} slots)` : ""}`},
      {name: "order", cell: (row) => (row.order_id === null ? "" : orderLink(row.order_id))},
      {name: "state", cell: (row) => (row.state === null ? "" : badge(row.state))},
      {name: "reason", cell: (row) => row.text},
    ], runs, {empty: "No slot has come yet.", key: (row) => row.slot})),
    panel("Definition", bytes("Definition", schedule.definition)));
}
