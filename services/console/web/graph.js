// The picture of a workflow: boxes and arrows at the places that the server computed, coloured by an order's states.
import {kindOf, panel, svg} from "/dom.js";

const NAME_SHOWN = 22; // characters that fit into a box
const UNDOING = ["undo_pending", "undo_running", "undo_waiting", "undone", "undo_failed"];

const cut = (name) => (name.length > NAME_SHOWN ? `${name.slice(0, NAME_SHOWN - 1)}…` : name);
const stateOf = (step) => (step ? step.state.replaceAll("_", " ") : "not yet");

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

function box(node, graph, step) {
  const left = node.x - graph.box_width / 2;
  const kind = step ? `is-${kindOf(step.state)}` : "is-over";
  const inner = 4; // a second line marks the pivot
  return svg("g", {class: `box ${kind}`, "data-key": node.step},
    svg("title", {}, `${node.step}: ${stateOf(step)}; service ${node.service}${node.is_pivot ? "; pivot: from here the order only goes forward" : ""}${node.has_undo ? "" : "; has no undo"}`),
    svg("rect", {x: left, y: node.y, width: graph.box_width, height: graph.box_height, rx: 6}),
    node.is_pivot && svg("rect", {x: left + inner, y: node.y + inner, width: graph.box_width - 2 * inner, height: graph.box_height - 2 * inner, rx: 4}),
    svg("text", {x: node.x, y: node.y + 20}, cut(node.step)),
    svg("text", {x: node.x, y: node.y + 37, class: "state"}, stateOf(step)));
}

/** The steps of an order's workflow, from the start; null without a picture. */
export function graphShow(graph, steps) {
  if (!graph) return null;
  const byName = new Map(steps.map((step) => [step.step, step]));
  const isTaken = (name) => ["done", ...UNDOING].includes(byName.get(name)?.state);
  const isUndone = (edge) => UNDOING.includes(byName.get(edge.to)?.state);
  const words = graph.nodes.map((node) => `${node.step} ${stateOf(byName.get(node.step))}`).join(", ");
  return panel("Workflow", svg("svg", {class: "graph", role: "img", "aria-label": `Steps: ${words}`, width: graph.width, height: graph.height,
    viewBox: `0 0 ${graph.width} ${graph.height}`},
  graph.edges.map((edge) => svg("path", {class: `arrow${isUndone(edge) ? " is-back" : isTaken(edge.from) ? " is-taken" : ""}`, d: curve(edge.points)})),
  graph.nodes.map((node) => box(node, graph, byName.get(node.step)))));
}
