// Requests to the console: JSON from /api/v1, and events while the page is visible.

class Refusal extends Error {
  constructor(status, text) { super(text); this.status = status; }
}

const AGAIN_MS = 5000; // the wait before a refused stream is opened again
const QUIET_MS = 5000; // a broken stream is reported after this; most are back by then

export const me = {name: "", role: "none", csrf: "", needs_login: false, version: ""};
export const mayAct = () => me.role === "operator" && me.csrf !== "";

async function call(path, options = {}) {
  let answer;
  try {
    answer = await fetch(`/api/v1/${path}`, {credentials: "same-origin", cache: "no-store", ...options,
      headers: {Accept: "application/json", ...options.headers}}); // makes a proxy refuse instead of redirecting to its login
  } catch {
    throw new Refusal(0, "the console does not answer");
  }
  const body = await answer.json().catch(() => ({error: `the console answered with status ${answer.status}`}));
  if (!answer.ok) throw new Refusal(answer.status, body.error ?? `the console answered with status ${answer.status}`);
  return body;
}

/** Empty parameters are not sent. */
export function get(path, parameters = {}, signal) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value));
  return call(path + (String(query) !== "" ? `?${query}` : ""), {signal});
}

export function post(path, body) {
  return call(path, {method: "POST", headers: {"Content-Type": "application/json", "X-Makegood-CSRF": me.csrf}, body: JSON.stringify(body)});
}

/** Names one intention of the operator: two requests with the same ticket have one effect. */
export const ticketMake = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** The same, as the id of a command. */
export const commandIdMake = () => ticketMake().replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");

export async function meRead() { return Object.assign(me, await get("me")); }
export async function login(token) { return Object.assign(me, await post("login", {token})); }
export async function logout() { return Object.assign(me, await post("logout", {})); }

/**
 * Calls handlers[event](data) for each event, and handlers.broken() while the stream is broken. Returns a function that
 * ends it. The stream is open only while the page is visible. A browser allows six connections to a server, and
 * forgotten tabs would use them all.
 */
export function listen(parameters, handlers) {
  const query = new URLSearchParams(parameters);
  let source = null, again = null, quiet = null;
  const calm = () => { clearTimeout(quiet); quiet = null; };
  const end = () => { source?.close(); source = null; clearTimeout(again); calm(); };
  const begin = () => {
    end();
    if (document.hidden) return;
    source = new EventSource(`/api/v1/live${String(query) !== "" ? `?${query}` : ""}`);
    for (const [name, handle] of Object.entries(handlers)) {
      if (name !== "broken") source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
    }
    source.onopen = calm;
    source.onerror = ({target}) => {
      if (target.readyState === EventSource.CLOSED) refused();
      else quiet ??= setTimeout(() => handlers.broken?.(), QUIET_MS); // the server ends each stream after a while, and the browser opens the next
    };
  };
  const refused = async () => {
    handlers.broken?.();
    again = setTimeout(begin, AGAIN_MS); // the browser does not retry after a refusal
    await meRead().catch((error) => { if (error.status === 401 || error.status === 403) me.role = "none"; });
    if (me.role === "none") window.dispatchEvent(new Event("loggedout"));
  };
  document.addEventListener("visibilitychange", begin);
  begin();
  return () => { document.removeEventListener("visibilitychange", begin); end(); };
}
