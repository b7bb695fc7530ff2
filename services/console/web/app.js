// The shell: views by path, keys, theme, login. Each view is a file that exports `show(page)`; it may return a function
// that ends its streams and timers.
import {h, clockTell, fact, morph, say, tick} from "/dom.js";
import {get, listen, me, meRead, login, logout} from "/api.js";
import {icon} from "/icons.js";

const VIEWS = [
  {path: "/", name: "Overview", key: "o", file: "/overview.js", icon: "overview"},
  {path: "/orders", name: "Orders", key: "r", file: "/orders.js", icon: "orders"},
  {path: "/failures", name: "Failures", key: "f", file: "/failures.js", icon: "failures"},
  {path: "/alerts", name: "Alerts", key: "a", file: "/alerts.js", icon: "alerts"},
  {path: "/waiting", name: "Waiting", key: "p", file: "/waiting.js", icon: "waiting"},
  {path: "/bulk", name: "Bulk actions", key: "b", file: "/bulk_list.js", icon: "bulk"},
  {path: "/dead", name: "Dead letters", key: "d", file: "/dead.js", icon: "dead"},
  {path: "/services", name: "Services", key: "s", file: "/services.js", icon: "services", begins: true},
  {path: "/workflows", name: "Workflows", key: "w", file: "/workflows.js", icon: "workflows"},
  {path: "/schedules", name: "Schedules", key: "c", file: "/schedules.js", icon: "schedules"},
  {path: "/audit", name: "Audit", key: "u", file: "/audit.js", icon: "audit", begins: true},
];
const ONE_OF = [ // views of one object, below the list of all
  {below: "/orders", name: "Order", file: "/order.js"},
  {below: "/bulk", name: "Bulk action", file: "/bulk.js"},
  {below: "/waiting", name: "Waiting", file: "/waiting.js"},
  {below: "/workflows", name: "Workflow", file: "/workflow.js"},
  {below: "/schedules", name: "Schedule", file: "/schedule.js"},
];
const FIND = {path: "/find", name: "Search", file: "/find.js"};
const POST = {path: "/post", name: "Post an order", file: "/post.js"};
const LOGIN = {...VIEWS[0], path: "/login"};
const NOWHERE = {name: "Not found"};
const element = (id) => document.getElementById(id);
let end = null, shown = 0;

function viewOf(path) {
  return ONE_OF.find((view) => path.startsWith(`${view.below}/`)) ?? [...VIEWS, FIND, POST, LOGIN].find((view) => view.path === path) ?? NOWHERE;
}

/** Shows a fault of the whole page; "" removes it. */
export function trouble(text) {
  const box = element("trouble");
  if (box.textContent !== text) box.textContent = text;
  box.hidden = text === "";
}

/** listen() for a view. Without new events the view keeps its data, and the page marks it as old. */
export const watch = (parameters, {overview = () => {}, ...handlers}) => listen(parameters, {
  overview: (data) => {
    clockTell(data.now_ms);
    trouble("");
    overview(data);
  },
  trouble: ({error}) => trouble(`This page is out of date: ${error}.`),
  broken: () => trouble("This page is out of date: the console does not answer. The connection is retried."),
  ...handlers,
});

/** Shows a view's error in its place, with the remedy. */
function failed(main, error) {
  if (error.name === "AbortError") return;
  if (error.status === 401) { askLogin(); return; }
  main.replaceChildren(h("h1", {}, error.status === 404 ? "Not found" : "This page is not available"), h("p", {}, `${error.message}.`),
    h("button", {type: "button", onclick: () => show()}, "Try again"));
}

/** A new view begins at its top, with the focus in it. */
function top() {
  element("main").focus({preventScroll: true});
  window.scrollTo(0, 0);
}

/** Shows the view of the current path. */
export async function show({keepsFocus = false} = {}) {
  const mine = ++shown, main = element("main"), view = viewOf(location.pathname);
  end?.();
  end = null;
  trouble("");
  navShow(view);
  if (me.role === "none") { askLogin(); return; }
  const fresh = h("div");
  main.replaceChildren(fresh);
  document.title = `${view.name} – Makegood`;
  if (view === NOWHERE) {
    fresh.append(h("h1", {}, "Not found"), h("p", {}, "There is no page at ", h("span", {class: "id"}, location.pathname), "."));
    if (!keepsFocus) top();
    return;
  }
  try {
    const module = await import(view.file);
    const stop = await module.show({main: fresh, query: new URLSearchParams(location.search), path: location.pathname});
    if (mine === shown) end = stop ?? null;
    else stop?.();
  } catch (error) {
    if (mine === shown) failed(main, error);
  }
  if (mine === shown && !keepsFocus) {
    top();
    say(main.querySelector("h1")?.textContent ?? view.name);
  }
}

/**
 * A view whose data are read again while it is shown: read() resolves with them, draw(data, again) makes its contents,
 * changed(before, after) a text to announce. Returns {data, draw, again, stop}.
 */
export async function lively(main, read, draw, changed = () => "") {
  let isAsking = false, isStopped = false;
  const self = {
    data: await read(),
    draw: () => isStopped || morph(main, h("div", {}, draw(self.data, self.again))),
    stop: () => { isStopped = true; },
    again: async () => {
      if (isAsking || isStopped) return;
      isAsking = true;
      try {
        const before = self.data;
        self.data = await read();
        trouble("");
        self.draw();
        say(changed(before, self.data));
      } catch (error) {
        trouble(`This page is out of date: ${error.message}.`);
      } finally {
        isAsking = false;
      }
    },
  };
  self.draw();
  return self;
}

export function go(address) {
  if (address !== location.pathname + location.search) history.pushState(null, "", address);
  return show();
}

/** Reads the view again after a change; the focus stays. */
export const reload = () => show({keepsFocus: true});

function navShow(current) {
  document.body.classList.toggle("is-out", me.role === "none");
  element("nav").replaceChildren(...VIEWS.map((view) => h("li", {class: view.begins ? "is-first" : null},
    h("a", {href: view.path, "aria-current": view === current || current.below === view.path ? "page" : null}, icon(view.icon), view.name))));
  const may = `${me.name} has ${me.role === "operator" ? "operator" : "read-only"} access`;
  element("who").replaceChildren(...(me.role === "none" || me.name === "" ? []
    : [me.needs_login ? h("button", {type: "button", title: may, "aria-label": `Log out ${me.name}`, onclick: leave}, icon("leave"), h("span", {}, me.name)) : h("span", {title: may}, me.name)]));
  element("version").textContent = me.version === "" ? "" : `makegood ${me.version}${me.role === "reader" && me.csrf === "" ? ", read-only" : ""}`;
  menuShow(false);
}

/** On a narrow screen the pages' list opens and closes. */
function menuShow(isOpen) {
  element("menu").setAttribute("aria-expanded", String(isOpen));
  element("pages").classList.toggle("is-open", isOpen);
}
element("menu").append(icon("menu"));
element("menu").onclick = () => menuShow(element("menu").getAttribute("aria-expanded") !== "true");
element("help").append(icon("help"));
element("zone").textContent = `times of ${Intl.DateTimeFormat().resolvedOptions().timeZone}`;

// ---- login ----

async function leave() {
  try {
    await logout();
    await show();
  } catch (error) {
    trouble(`You are still logged in: ${error.message}.`);
  }
}

// A proxy's users log in at the proxy; reloading the page starts its login.
function askProxy() {
  element("main").replaceChildren(h("section", {class: "panel"}, h("h1", {}, "Not logged in"),
    h("p", {}, "This console uses the login of a proxy. Your login has expired, or it does not permit access."),
    h("button", {type: "button", class: "first", onclick: () => location.reload()}, "Log in again")));
}

function askLogin() {
  const failedText = h("p", {class: "failed", role: "alert"});
  const token = h("input", {type: "password", name: "token", autocomplete: "current-password", required: true, id: "token"});
  me.role = "none";
  navShow(viewOf(location.pathname));
  document.title = "Log in – Makegood";
  if (!me.needs_login) { askProxy(); return; }
  element("main").replaceChildren(h("section", {class: "panel login"}, h("h1", {}, "Log in"),
    h("form", {onsubmit: async (event) => {
      event.preventDefault();
      try {
        await login(token.value);
        await show();
      } catch (error) {
        failedText.textContent = `${error.message}.`;
        token.select();
      }
    }}, h("p", {}, h("label", {for: "token"}, "Your token"), token), h("p", {class: "soft"}, "The person who runs this console gives you a token. makegood dev and deploy/demo print one at their start."), failedText, h("button", {type: "submit", class: "first"}, "Log in"))));
  token.focus();
}

// ---- theme ----

const THEMES = {auto: "Theme: system", light: "Theme: light", dark: "Theme: dark"};
function themeShow() {
  const theme = localStorage.getItem("theme") ?? "auto";
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  element("theme").replaceChildren(icon("theme"), h("span", {"aria-hidden": "true"}, (THEMES[theme] ?? THEMES.auto).replace("Theme: ", "")));
  element("theme").setAttribute("aria-label", THEMES[theme] ?? THEMES.auto);
  element("theme").title = THEMES[theme] ?? THEMES.auto;
}
element("theme").onclick = () => {
  const names = Object.keys(THEMES), at = names.indexOf(localStorage.getItem("theme") ?? "auto");
  localStorage.setItem("theme", names[(at + 1) % names.length]);
  themeShow();
  say(element("theme").title);
};

// ---- keys, links ----

function keysShow() {
  const close = h("button", {type: "submit", class: "first"}, "Close");
  const dialog = h("dialog", {"aria-labelledby": "keys-title"}, h("form", {method: "dialog"},
    h("h2", {id: "keys-title"}, "Keys"),
    h("dl", {class: "facts"}, [["/", "search for an order"], ...VIEWS.map((view) => [`g ${view.key}`, view.name]), ["?", "show this list"], ["Esc", "close a dialog"]]
      .map(([keys, what]) => fact(keys.split(" ").map((key) => [h("kbd", {}, key), " "]), what))),
    h("div", {class: "row"}, close)));
  dialog.onclose = () => dialog.remove();
  document.body.append(dialog);
  dialog.showModal();
}
element("help").onclick = keysShow;

let before = "", beforeAt = 0;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  const view = before === "g" && event.timeStamp - beforeAt < 1500 && VIEWS.find((each) => each.key === event.key);
  before = event.key;
  beforeAt = event.timeStamp;
  if (view) go(view.path);
  else if (event.key === "/") element("find-id").focus();
  else if (event.key === "?") keysShow();
  else return;
  event.preventDefault();
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='/']");
  if (!link || link.hasAttribute("download") || link.target || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || link.pathname.startsWith("/api/")) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});
window.addEventListener("popstate", () => show());
window.addEventListener("loggedout", () => show());

/** An id that is whole leads to its order, any other text to a list. The list's page reports an error of the search. */
element("find").onsubmit = async (event) => {
  event.preventDefault();
  const text = element("find-id").value.trim();
  if (text === "") return;
  const {found} = await get("find", {text}).catch(() => ({found: []}));
  const isWhole = found.some((row) => row.order_id === text);
  go(isWhole ? `/orders/${encodeURIComponent(text)}` : `/find?${new URLSearchParams({text})}`);
};

// Not awaited here: views import this file, so they would wait for its end.
async function begin() {
  try {
    await meRead();
    await show({keepsFocus: true});
  } catch (error) {
    failed(element("main"), error);
  }
}
themeShow();
setInterval(tick, 1000);
begin();
