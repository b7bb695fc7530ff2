"""Faults: what one is, and in which order they come.

A fault is a generator. What stands before its one `yield` injects it; the `yield` gives the seconds that it holds; what stands
behind heals it. It is registered by @fault with the rows of the catalogue that it covers and with what is measured:

  KILL     the moment of the fault counts; what was in hand must move again within 2 s, for others are there
  SILENCE  the same within 25 s: two missed heartbeats, or a time-out of TCP
  SERVER   the moment counts at which the server can be reached again; within 10 s all move
  OTHER    as SERVER, without a bound

Recovery is the longest silence, from that moment on, of any plain order (one whose remotes neither fail nor dawdle) that was open
then or was posted within two seconds after it: between two of its news (accepted, each step, the end), until it has ended.
"""

import collections
import random
import time

KILL, SILENCE, SERVER, OTHER = "kill", "silence", "server", "other"
BOUND_S = {KILL: 2.0, SILENCE: 25.0, SERVER: 10.0, OTHER: None}
TOUCHED_S = 2.0        # orders that come so soon after the fault are its own, too
GIVE_UP_S = 120.0      # nobody waits longer than this for a recovery: it is a finding
BETWEEN_S = 2.0
TWO_AT_ONCE = 0.2      # how often

Fault = collections.namedtuple("Fault", "name rows measure touches needs weight make")
FAULTS = {}


def fault(name, rows=(), measure=OTHER, touches=(), needs=(), weight=1.0):
    """touches: what it makes unreachable; two that share a word are not injected together. needs: what the machine or the run
    must have: "network", "disk", "clock", "cluster", "single" (node). weight 0: only when its row is asked for."""
    def mark(make):
        assert name not in FAULTS, name
        FAULTS[name] = Fault(name, tuple(rows), measure, frozenset(touches), frozenset(needs), weight, make)
        return make
    return mark


class Injection:
    """One fault injected once, and how the system came back."""

    def __init__(self, what, began_at):
        self.fault, self.began_at = what, began_at
        self.healed_at = self.recovery_s = None
        self.is_alone = True
        self.detail = ""


class Nemesis:
    def __init__(self, stage, load, seed, history, names=None):
        self.stage, self.load, self.history = stage, load, history
        self.dice = random.Random(seed)
        self.injections = []
        has = {"network" if stage.has_own_network else None, "disk" if stage.has_own_disk else None,
               "clock" if stage.clock_library else None, "cluster" if stage.is_cluster else "single"}
        self.skipped = sorted(each.name for each in FAULTS.values() if not each.needs <= has)
        self.faults = [each for each in FAULTS.values() if each.needs <= has and (names is None or each.name in names)]
        self.deck = []

    def draw(self):
        """The next fault. Each comes once before any comes twice, in an order that the seed decides."""
        if not self.deck:
            self.deck = [each for each in self.faults if each.weight > 0]
            self.dice.shuffle(self.deck)
        return self.deck.pop()

    def run(self, until):
        while time.monotonic() < until:
            first, second = self.draw(), None
            if self.deck and self.dice.random() < TWO_AT_ONCE:
                second = next((each for each in reversed(self.deck) if not each.touches & first.touches and each.touches
                               and first.touches), None)
                if second is not None:
                    self.deck.remove(second)
            self.inject([each for each in (first, second) if each is not None])
            self.stage.wait_s(BETWEEN_S)

    def inject(self, faults):
        """Injects, holds, heals, and waits until what was touched moves again."""
        running = []
        for each in faults:
            injection = Injection(each, time.monotonic())
            injection.is_alone = len(faults) == 1
            self.injections.append(injection)
            self.history.note("fault", name=each.name)
            generator = each.make(self.stage, self.dice)
            self.stage.struck_at = None
            hold_s = next(generator)
            injection.began_at = self.stage.struck_at or injection.began_at
            running.append((injection, generator, time.monotonic() + hold_s))
        for injection, generator, until in sorted(running, key=lambda each: each[2]):
            self.stage.wait_s(max(0.0, until - time.monotonic()))
            if next(generator, None) is not None:
                raise AssertionError(f"{injection.fault.name}: a fault holds once")
            injection.healed_at = time.monotonic()
            self.history.note("healed", name=injection.fault.name)
        for injection, _, _ in running:
            self.measure(injection)

    def measure(self, injection):
        since = injection.began_at if injection.fault.measure in (KILL, SILENCE) else injection.healed_at

        def has_recovered():
            waits = self.load.waits(since, TOUCHED_S)
            return time.monotonic() > since + TOUCHED_S and None not in waits

        came_back = self.stage.wait(has_recovered, GIVE_UP_S)
        waits = [wait for wait in self.load.waits(since, TOUCHED_S) if wait is not None]
        injection.recovery_s = max(waits, default=0.0) if came_back else GIVE_UP_S
        self.history.note("recovered", name=injection.fault.name, seconds=round(injection.recovery_s, 3), touched=len(waits))
