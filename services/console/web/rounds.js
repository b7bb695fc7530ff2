// Rounds of waiting in an order's story, as services/cli/rounds.c finds them: a step goes out, and comes back to wait for its service.

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

/** Events in their order, with one entry {rounds: how many, events: all of theirs, length: of one} for rounds that are equal. */
export function folded(events) {
  const told = [];
  for (let index = 0; index < events.length;) {
    const first = round(events, index);
    let end = index + Math.max(first.length, 1), rounds = 1;
    for (let next = round(events, end); first.length > 0 && next.length === first.length && next.every((event, i) => same(first[i], event)); next = round(events, end)) {
      end += next.length;
      rounds++;
    }
    if (rounds > 1) {
      told.push({rounds, length: first.length, events: events.slice(index, end)});
      index = end;
    } else {
      told.push(events[index++]);
    }
  }
  return told;
}
