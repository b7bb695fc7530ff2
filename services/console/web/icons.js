// Small pictures, drawn with lines in the text's colour. Each is decoration: a word stands next to it, or its button has a name.
import {svg} from "/dom.js";

const PATHS = { // each in a square of 16
  overview: "M2 9.5 8 3l6 6.5M4 8v5.5h8V8",
  orders: "M3 3.5h10v9H3zM3 6.5h10M6 6.5v6",
  failures: "M8 2.5 14.5 13.5H1.5zM8 6.5v3.2M8 11.6v.2",
  bulk: "M2.5 4h11M2.5 8h11M2.5 12h6M11.5 10.5 14 12l-2.5 1.5",
  waiting: "M8 2a6 6 0 1 0 .01 0M8 4.5V8l2.5 2",
  alerts: "M8 2a4 4 0 0 0-4 4v3l-1.5 2.5h11L12 9V6a4 4 0 0 0-4-4M6.5 13.5h3",
  dead: "M2.5 5.5 8 9l5.5-3.5M2.5 4h11v8.5h-11z",
  services: "M3 3h10v4H3zM3 9h10v4H3zM5 5h.2M5 11h.2",
  schedules: "M3 4h10v9.5H3zM3 7h10M5.5 2.5V5M10.5 2.5V5",
  workflows: "M2.5 3h4v3.5h-4zM9.5 9.5h4V13h-4zM4.5 6.5v4.8h5",
  audit: "M4 2.5h8v11H4zM6 5.5h4M6 8h4M6 10.5h2.5",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  leave: "M6.5 3H3v10h3.5M6.5 8H14M11 5l3 3-3 3",
  theme: "M8 2.5a5.5 5.5 0 1 0 .01 0M8 2.5v11",
  help: "M5.5 6a2.5 2.5 0 1 1 3.6 2.2C8.3 8.7 8 9.1 8 10M8 12.8v.2",
};

export const icon = (name) => svg("svg", {class: "icon", viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true"}, svg("path", {class: "mark", d: PATHS[name]}));
