// Rounds of waiting in an order's story, as services/cli/rounds.h has them: a step goes out, and comes back to wait for its service.

const ROUND_MAX = 3; // it goes out, fails, and finds the gate closed
const WAITS = ["waiting", "undo_waiting", "unknown"];
const RUNS = ["running", "undo_running"];
export const FOR_GATE = ["no_consumer", "breaker_open", "service_paused", "window_full"]; // a step that waits so waits for no moment

/** The one change that an event made to one step without telling the client; else null. */
function move(event) {
  const [change, ...others] = event?.transitions ?? [];
  return change?.step && others.length === 0 && !event.statuses?.length ? change : null;
}

/** The events of the round that begins at `index`; [] if none does. */
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

/** Rounds of one length are of one kind, and two kinds wait for the same. */
function alike(known, next) {
  const [a, b] = [known.at(-1), next.at(-1)];
  return known.length === next.length ? known.every((event, i) => same(event, next[i])) : a.step === b.step && a.transitions[0].reason === b.transitions[0].reason;
}

/** Events in their order; for rounds that are alike, one behind the other, one entry {rounds}: their events, by round. */
export function folded(events) {
  const told = [];
  for (let index = 0; index < events.length;) {
    const rounds = [], kinds = [];
    let end = index;
    for (let next = round(events, end); next.length > 0 && kinds.every((known) => alike(known, next)); next = round(events, end)) {
      if (!kinds.some((known) => known.length === next.length)) kinds.push(next);
      rounds.push(next);
      end += next.length;
    }
    if (rounds.length > 1) {
      told.push({rounds});
      index = end;
    } else {
      told.push(events[index++]);
    }
  }
  return told;
}

/** The rounds in which the service was called, in vain. */
export const called = (rounds) => rounds.filter((events) => events.length === ROUND_MAX);
