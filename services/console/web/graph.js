// The picture of a workflow: boxes and arrows at the places that the server computed, with an order's states. Each state has a colour
// and a mark. On a narrow screen a list of the same steps replaces the picture.
import {h, badge, distance, kindOf, moments, panel, span, svg, words} from "/dom.js";
import {FOR_GATE, RUNS} from "/rounds.js";

const NAME_SHOWN = 18, WHY_SHOWN = 27; // characters that fit into a box with its mark
const LINE_SHOWN = 30; // likewise, of a condition
const LETTER = 6; // the width of one in a line
const HEAD = 12; // of an arrow; the server leaves it free below the conditions
const MARGIN = 12;
const MARK = 16; // its side
const BACK = ["undo_pending", "undo_running", "undo_waiting", "undone", "undo_failed"];
const MOVING = [...RUNS, "waiting", "undo_waiting"];
const NOT_BEGUN = ["pending", "not yet", "not reached"];

// each in a square of 16
const MARKS = {
  done: "M2.5 8.5 6.5 12.5 13.5 4",
  failed: "M3.5 3.5 12.5 12.5M12.5 3.5 3.5 12.5",
  running: "M4.5 3 12.5 8 4.5 13Z",
  waiting: "M8 2a6 6 0 1 0 .01 0M8 4.5V8l2.5 2",
  unknown: "M5 5.5a3 3 0 1 1 4.4 2.7C8.4 8.8 8 9.3 8 10.4M8 13v.2",
  skipped: "M2 8h8.5M7.5 4.5 11 8 7.5 11.5M13.5 3.5v9",
  back: "M6.5 3 3 6.5 6.5 10M3 6.5h6.5a3.5 3.5 0 0 1 0 7H6",
  none: "M8 3.5a4.5 4.5 0 1 0 .01 0",
};
const MARK_OF = {done: "done", failed: "failed", undo_failed: "failed", running: "running", waiting: "waiting", unknown: "unknown",
  skipped: "skipped", undone: "back", undo_pending: "back", undo_running: "back", undo_waiting: "back"};

const cut = (text, most) => ([...text].length > most ? `${[...text].slice(0, most - 1).join("")}…` : text);

/** The awaited thing of a step on its way, and a time that goes on: "waiting for carrier, 88 s", "waiting: backoff, in 3 s". */
function waitOf(step, events) {
  const changes = events.flatMap(({at, transitions}) => (transitions ?? []).filter((change) => change.step === step.step).map((change) => ({...change, at})));
  if (RUNS.includes(step.state)) return {text: "", since: changes.at(-1)?.at};
  if (step.reason === "awaiting_signal") return {text: " for a signal", until: step.due_at};
  if (!FOR_GATE.includes(step.reason)) return {text: `: ${words(step.reason)}`, until: step.due_at};
  const isGate = (change) => FOR_GATE.includes(change.reason);
  const open = changes.findLastIndex((change) => !isGate(change) && !RUNS.includes(change.to)); // probes do not begin the wait anew
  return {text: ` for ${step.service}`, since: changes.slice(open + 1).find(isGate)?.at};
}

/** The order's step of this name; one that has not begun is "not yet". */
function stepOf(steps, events, name) {
  const found = steps.find((step) => step.step === name);
  const state = found?.state ?? "not yet";
  const why = NOT_BEGUN.includes(state) ? null : found?.why ?? null; // the conditions of a coming step stand at its arrows
  return {state, why, words: words(state), wait: MOVING.includes(state) ? waitOf(found, events) : null};
}

/** The second line of a box: the state, then the reason or the time that goes on. */
function stateLine(step) {
  const {wait} = step, moment = wait && (wait.until ?? wait.since);
  if (!moment) return cut(step.why ? `${step.words}: ${step.why}` : step.words, WHY_SHOWN);
  const time = wait.until ? distance(wait.until) : span(wait.since);
  return [`${cut(`${step.words}${wait.text}`, WHY_SHOWN - time.length - 2)}, `, svg("tspan", {[wait.until ? "data-at" : "data-since"]: moment}, time)];
}

const markShow = (state, at = {}) => svg("path", {class: "mark", d: MARKS[MARK_OF[state] ?? "none"], ...at});

/** A curve that leaves and enters each box vertically. */
function curve(points) {
  let path = `M${points[0][0]} ${points[0][1]}`;
  for (let i = 1; i < points.length; i += 2) {
    const [[x1, y1], [x2, y2]] = [points[i - 1], points[i]];
    const middle = (y1 + y2) / 2;
    path += ` C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`;
    if (points[i + 1]) path += ` L${points[i + 1][0]} ${points[i + 1][1]}`;
  }
  return path;
}

/** "back": the order came back this way; "taken": it went on; "passed": to a skipped step; "open": it has not come here. */
function wayOf(from, to) {
  if (BACK.includes(to.state)) return "back";
  if (BACK.includes(from.state)) return to.state === "skipped" ? "passed" : NOT_BEGUN.includes(to.state) ? "open" : to.state === "done" ? "taken" : "back"; // a step that stays done was not undone
  if (to.state === "skipped") return "passed";
  return ["done", "skipped"].includes(from.state) && !NOT_BEGUN.includes(to.state) ? "taken" : "open";
}

function arrow(edge, way) {
  const head = `url(#graph-${way})`;
  return svg("path", {class: `arrow is-${way}${edge.is_need ? " is-need" : ""}`, d: curve(edge.points),
    "marker-end": way === "back" ? null : head, "marker-start": way === "back" ? head : null});
}

const heads = () => svg("defs", {}, ["open", "taken", "passed", "back"].map((way) => svg("marker", {id: `graph-${way}`, class: `head is-${way}`,
  markerUnits: "userSpaceOnUse", markerWidth: 10, markerHeight: 10, refX: 9, refY: 5, orient: "auto-start-reverse"}, svg("path", {d: "M0 0 9 5 0 10Z"}))));

const line = (label, x, y) => svg("g", {}, svg("title", {}, `${label.word} ${label.whole}`), svg("text", {x, y, class: "line"}, cut(label.text, LINE_SHOWN)));

/** The conditions of a step, where the arrows come in. */
function guards(node, graph) {
  const top = node.y - HEAD - node.guards.length * graph.line;
  const width = Math.min(graph.box_width, Math.max(...node.guards.map((label) => label.text.length)) * LETTER + MARGIN); // arrows next to it stay in sight
  return node.guards.length > 0 && svg("g", {class: "guards"},
    svg("rect", {x: node.x - width / 2, y: top, width, height: node.guards.length * graph.line}),
    node.guards.map((label, index) => line(label, node.x, top + index * graph.line + 12)));
}

const notesOf = (node) => [node.is_pivot && "pivot: from here the order only goes forward", !node.has_undo && !node.is_wait && "has no undo"].filter(Boolean);

/** Leads to the step's row. An address with a fragment would draw the page anew. */
function stepGo(event, step) {
  event.preventDefault();
  const row = document.getElementById(`step-${step}`);
  row?.scrollIntoView({block: "center"});
  row?.animate?.([{backgroundColor: "var(--wait-ground)"}, {backgroundColor: "transparent"}], {duration: 1500});
}

function box(node, graph, step) {
  const left = node.x - graph.box_width / 2, inner = 4; // a second line marks the pivot
  const told = step.why ? `${step.words}: ${step.why}` : step.words;
  return svg("a", {class: `box is-${kindOf(step.state)}${NOT_BEGUN.includes(step.state) ? " is-open" : ""}${step.state === "skipped" ? " is-passed" : ""}`, "data-key": node.step,
    href: `#step-${node.step}`, onclick: (event) => stepGo(event, node.step)},
    svg("title", {}, [`${node.step}: ${told}`, node.is_wait ? "waits" : `service ${node.service}`, ...notesOf(node)].join("; ")),
    svg("rect", {x: left, y: node.y, width: graph.box_width, height: node.height, rx: 6}),
    node.is_pivot && svg("rect", {class: "pivot", x: left + inner, y: node.y + inner, width: graph.box_width - 2 * inner, height: node.height - 2 * inner, rx: 4}),
    markShow(step.state, {transform: `translate(${left + 9} ${node.y + 8})`}),
    node.is_wait && step.state !== "waiting" && svg("path", {class: "mark", d: MARKS.waiting, transform: `translate(${left + graph.box_width - 9 - MARK} ${node.y + 8})`}),
    svg("text", {x: node.x, y: node.y + 20}, cut(node.step, NAME_SHOWN)),
    svg("text", {x: node.x, y: node.y + 37, class: "state"}, stateLine(step)),
    node.answers.map((label, index) => line(label, node.x, node.y + 53 + index * graph.line)));
}

/** The meaning of the marks that stand for no state. */
function legend(graph, ways) {
  const entries = [
    graph.nodes.some((node) => node.is_pivot) && "double frame: pivot, from here the order only goes forward",
    graph.edges.some((edge) => edge.is_need) && "thick arrow: skipped with the step before it",
    ways.includes("passed") && "dotted: skipped",
    ways.includes("back") && "dashed, backwards: undone",
  ].filter(Boolean);
  return entries.length > 0 && h("p", {class: "soft legend"}, `${entries.join("; ")}.`);
}

function listed(node, step) {
  return h("li", {"data-key": node.step, class: `is-${kindOf(step.state)}`},
    svg("svg", {class: "mark-of", viewBox: `0 0 ${MARK} ${MARK}`, width: MARK, height: MARK, "aria-hidden": "true"}, markShow(step.state)),
    h("div", {}, h("strong", {}, node.step), " ", badge(step.state),
      step.why && h("div", {}, moments(step.why)),
      [...node.guards, ...node.answers].map((label) => h("div", {class: "soft"}, `${label.word} ${label.whole}`)),
      notesOf(node).map((note) => h("div", {class: "soft"}, note))));
}

/** The steps of an order's workflow, from the start; null without a picture. */
export function graphShow(graph, steps, events) {
  if (!graph) return null;
  const states = new Map(graph.nodes.map((node) => [node.step, stepOf(steps, events, node.step)]));
  const ways = graph.edges.map((edge) => wayOf(states.get(edge.from), states.get(edge.to)));
  const inOrder = [...graph.nodes].sort((a, b) => a.y - b.y || a.x - b.x);
  return panel("Workflow",
    svg("svg", {class: "graph", role: "group", "aria-label": `Steps: ${graph.nodes.map((node) => `${node.step} ${states.get(node.step).words}`).join(", ")}`, width: graph.width, height: graph.height, viewBox: `0 0 ${graph.width} ${graph.height}`},
      heads(),
      graph.guards.map((label) => line(label, graph.width / 2, MARGIN + 7)),
      graph.edges.map((edge, index) => arrow(edge, ways[index])),
      graph.nodes.map((node) => guards(node, graph)),
      graph.nodes.map((node) => box(node, graph, states.get(node.step)))),
    graph.guards.map((label) => h("p", {class: "graph-list soft"}, `order: ${label.word} ${label.whole}`)),
    h("ol", {class: "graph-list"}, inOrder.map((node) => listed(node, states.get(node.step)))),
    legend(graph, ways));
}
