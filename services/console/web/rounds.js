// Rounds of waiting in an order's story, as in services/cli/rounds.h: a step is sent and returns to wait for its
// service.

const ROUND_MAX = 3; // sent, failed, parked at the closed gate
const WAITS = ["waiting", "undo_waiting", "unknown"];
export const RUNS = ["running", "undo_running"];
export const FOR_GATE = ["no_consumer", "breaker_open", "service_paused", "window_full"]; // a step with such a reason is parked without a set time

/** The transition of an event that moves one step and causes no status; else null. */
function move(event) {
  const [change, ...others] = event?.transitions ?? [];
  return change?.step && others.length === 0 && !event.statuses?.length ? change : null;
}

/** The events of the round that begins at `index`; [] if no round begins there. */
function round(events, index) {
  const first = move(events[index]);
  if (!first || !WAITS.includes(first.from) || !RUNS.includes(first.to)) return [];
  for (let length = 2; length <= ROUND_MAX; length++) {
    const change = move(events[index + length - 1]);
    if (change?.step !== first.step || !WAITS.includes(change.to)) return [];
    if (FOR_GATE.includes(change.reason)) return events.slice(index, index + length);
  }
  return [];
}

function same(a, b) {
  return ["cause_kind", "step", "reason"].every((name) => a[name] === b[name])
    && ["from", "to", "kind", "reason"].every((name) => a.transitions[0][name] === b.transitions[0][name]);
}

/** Rounds of one length must be equal. Rounds of different length must wait for the same reason. */
function alike(known, next) {
  const [a, b] = [known.at(-1), next.at(-1)];
  return known.length === next.length ? known.every((event, i) => same(event, next[i])) : a.step === b.step && a.transitions[0].reason === b.transitions[0].reason;
}

/** The events in their order. Equal rounds in sequence become one entry {rounds}: an array of each round's events. */
export function folded(events) {
  const entries = [];
  for (let index = 0; index < events.length;) {
    const rounds = [], kinds = [];
    let end = index;
    for (let next = round(events, end); next.length > 0 && kinds.every((known) => alike(known, next)); next = round(events, end)) {
      if (!kinds.some((known) => known.length === next.length)) kinds.push(next);
      rounds.push(next);
      end += next.length;
    }
    if (rounds.length > 1) {
      entries.push({rounds});
      index = end;
    } else {
      entries.push(events[index++]);
    }
  }
  return entries;
}

/** The rounds in which the service was called and failed. */
export const called = (rounds) => rounds.filter((events) => events.length === ROUND_MAX);
