// Charts of the last hour, a column for each minute, the present one last. The page gives their main numbers as text, too.
import {h, svg, now, number} from "/dom.js";

const MINUTES = 60, WIDTH = 120, HEIGHT = 28;
const most = (values) => values.reduce((highest, value) => Math.max(highest, value ?? 0), 0);
const bar = (minute, high, kind) => svg("rect", {x: minute * 2, y: HEIGHT - high, width: 1.6, height: high, class: kind});

/** `pausedSince`: the time since then is shaded. `kind`: the class of the bars. */
export function sparkline(name, values, {unit = "", failed = [], pausedSince = null, kind = "is-good"} = {}) {
  const highest = most(values);
  const highOf = (value) => (value > 0 ? Math.max(1, (value / highest) * (HEIGHT - 2)) : 0);
  const paused = pausedSince === null ? 0 : Math.min(MINUTES, Math.max(1, Math.ceil((now() - new Date(pausedSince).getTime()) / 60000)));
  const said = highest === 0 ? `${name}: none in the last hour` : `${name} in the last hour, at most ${number(highest)}${unit} in a minute`;
  return svg("svg", {class: "spark", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, role: "img", "aria-label": said},
    svg("title", {}, said),
    paused > 0 && svg("rect", {x: WIDTH - paused * 2, y: 0, width: paused * 2, height: HEIGHT, class: "pause"}),
    svg("path", {d: `M0 ${HEIGHT - 0.5}H${WIDTH}`, class: "ground"}),
    values.map((value, minute) => value > 0 && bar(minute, highOf(value), kind)),
    failed.map((value, minute) => value > 0 && bar(minute, highOf(value), "is-bad")));
}

const CHART_WIDTH = 600, CHART_HEIGHT = 90;
const SERIES = [["accepted", "is-busy"], ["ended", "is-good"], ["failed", "is-bad"]];

/** Orders accepted, ended and failed in each minute: `minutes` has a list of 60 numbers for each. The present minute is not drawn. */
export function orderChart(minutes) {
  const highest = Math.max(1, ...SERIES.map(([name]) => most(minutes[name])));
  const sum = (name) => minutes[name].reduce((total, value) => total + value, 0);
  const x = (minute) => ((minute / (MINUTES - 2)) * CHART_WIDTH).toFixed(1);
  const y = (value) => (CHART_HEIGHT - 1 - (value / highest) * (CHART_HEIGHT - 4)).toFixed(1);
  // Minutes in a row without any are not drawn: the last line would hide the ones before it.
  const path = (values) => values.map((value, minute) => {
    const hasOne = value > 0 || values[minute - 1] > 0, goesOn = hasOne && minute > 0;
    return hasOne || values[minute + 1] > 0 ? `${goesOn ? "L" : "M"}${x(minute)} ${y(value)}` : "";
  }).join("");
  const said = SERIES.map(([name]) => `${number(sum(name))} ${name}`).join(", ");
  return h("figure", {class: "chart"},
    svg("svg", {viewBox: `0 0 ${CHART_WIDTH} ${CHART_HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": `Orders of the last hour: ${said}`},
      svg("path", {d: `M0 ${CHART_HEIGHT - 0.5}H${CHART_WIDTH}`, class: "ground"}),
      SERIES.map(([name, kind]) => svg("path", {class: `line ${kind}`, d: path(minutes[name].slice(0, -1))}))),
    h("figcaption", {class: "row soft"}, SERIES.map(([name, kind]) => h("span", {class: `key ${kind}`}, `${name} ${number(sum(name))}`)),
      h("span", {}, `in the last hour; at most ${number(highest)} in a minute`)));
}
