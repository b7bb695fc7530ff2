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
  const picture = svg("svg", {class: "spark", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, role: "img", "aria-label": said},
    svg("title", {}, said),
    paused > 0 && svg("rect", {x: WIDTH - paused * 2, y: 0, width: paused * 2, height: HEIGHT, class: "pause"}),
    svg("path", {d: `M0 ${HEIGHT - 0.5}H${WIDTH}`, class: "ground"}),
    values.map((value, minute) => value > 0 && bar(minute, highOf(value), kind)),
    failed.map((value, minute) => value > 0 && bar(minute, highOf(value), "is-bad")));
  return h("div", {class: "sparkline"}, picture, highest > 0 && h("span", {class: "soft", "aria-hidden": "true"}, `max ${number(highest)}${unit}`));
}

const CHART_HEIGHT = 100, SLOT = 10, BAR = 2.8; // a slot has a bar of each series
const SERIES = [["accepted", "is-busy"], ["ended", "is-good"], ["failed", "is-bad"]];
const TIMES = [60, 45, 30, 15, 0]; // minutes ago, below the columns

/** Orders accepted, ended and failed in each minute: `minutes` has a list of 60 numbers for each. */
export function orderChart(minutes) {
  const highest = Math.max(1, ...SERIES.map(([name]) => most(minutes[name])));
  const sum = (name) => minutes[name].reduce((total, value) => total + value, 0);
  const said = SERIES.map(([name]) => `${number(sum(name))} ${name}`).join(", ");
  const column = (value, minute, place) => {
    const height = Math.max(2, (value / highest) * CHART_HEIGHT); // one order is seen, too
    return svg("rect", {x: minute * SLOT + place * (BAR + 0.4), y: CHART_HEIGHT - height, width: BAR, height});
  };
  return h("figure", {class: "chart"},
    h("div", {class: "plot"},
      h("div", {class: "ticks soft", "aria-hidden": "true"}, h("span", {}, number(highest)), h("span", {}, "0")),
      svg("svg", {viewBox: `0 0 ${MINUTES * SLOT} ${CHART_HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": `Orders of the last hour: ${said}`},
        svg("path", {d: `M0 0.5H${MINUTES * SLOT}M0 ${CHART_HEIGHT / 2}H${MINUTES * SLOT}M0 ${CHART_HEIGHT - 0.5}H${MINUTES * SLOT}`, class: "ground"}),
        SERIES.map(([name, kind], place) => svg("g", {class: kind}, minutes[name].map((value, minute) => value > 0 && column(value, minute, place)))))),
    h("div", {class: "scale", "aria-hidden": "true"}, TIMES.map((ago) => h("span", {}, minuteOf(ago)))),
    h("figcaption", {class: "row soft"}, SERIES.map(([name, kind]) => h("span", {class: `key ${kind}`}, `${name} ${number(sum(name))}`)), h("span", {}, "orders a minute, in the last hour")));
}

/** The time of day so many minutes ago. */
const minuteOf = (ago) => (ago === 0 ? "now" : new Date(now() - ago * 60000).toLocaleTimeString([], {hour: "2-digit", minute: "2-digit"}));
