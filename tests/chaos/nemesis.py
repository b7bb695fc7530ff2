"""Faults: their form and their order.

A fault is a generator. The code before its one `yield` injects it; the `yield` gives the seconds that it holds; the code after
heals it. It is registered by @fault with the rows of the catalogue that it covers and with the kind of measure:

  KILL     counts from the fault; work in hand must move again within 2 s, since other instances run
  SILENCE  the same within 25 s: three heartbeats of 7 s and the repeated work, or a time-out of TCP
  SERVER   counts from the moment at which the server can be reached again; within 10 s all orders move
  OTHER    as SERVER, without a bound

Recovery is the longest silence, from that moment on, of any plain order that was open then or was posted within two seconds after
it. A plain order uses remotes that neither fail nor dawdle. A silence lies between two of its news (accepted, each step, the end),
until it has ended.
"""

import collections
import random
import time
import traceback

KILL, SILENCE, SERVER, OTHER = "kill", "silence", "server", "other"
BOUND_S = {KILL: 2.0, SILENCE: 25.0, SERVER: 10.0, OTHER: None}
TOUCHED_S = 2.0        # orders that come so soon after the fault count as affected
GIVE_UP_S = 120.0      # the wait for a recovery ends here, and is a finding
BETWEEN_S = 2.0
TWO_AT_ONCE = 0.2      # how often
# How often each fault comes in a deck after the first. Those with a bound come often, so that their 99th percentile is meaningful.
AGAIN = {KILL: 4, SILENCE: 2, SERVER: 2, OTHER: 1}

Fault = collections.namedtuple("Fault", "name rows measure touches needs make")
FAULTS = {}


def fault(name, rows=(), measure=OTHER, touches=(), needs=()):
    """touches: the servers that it makes unreachable; two faults that share a word are not injected together. needs: the required
    features of the machine or the run: "network", "disk", "clock", "cluster", "single" (node)."""
    def mark(make):
        assert name not in FAULTS, name
        FAULTS[name] = Fault(name, tuple(rows), measure, frozenset(touches), frozenset(needs), make)
        return make
    return mark


class Injection:
    """One injection of a fault, and its recovery."""

    def __init__(self, what, began_at):
        self.fault, self.began_at = what, began_at
        self.healed_at = self.recovery_s = None
        self.is_alone = True
        self.has_given_up = False
        self.failure = None  # the failure of the nemesis' own tools


class Nemesis:
    """`mend` is called when a fault could not be injected or healed as it should be."""

    def __init__(self, stage, load, seed, history, mend, names=None):
        self.stage, self.load, self.history, self.mend = stage, load, history, mend
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
            self.deck = [each for each in self.faults for _ in range(AGAIN[each.measure] if self.injections else 1)]
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

    def await_calm(self):
        """Waits until no order is held up by the last fault, so that its delays are not attributed to the next one."""
        began = time.monotonic()
        is_calm = self.stage.wait(self.load.is_calm, GIVE_UP_S)
        if time.monotonic() - began > BETWEEN_S or not is_calm:
            self.history.note("calm" if is_calm else "not calm", seconds=round(time.monotonic() - began, 3))

    def inject(self, faults):
        """Injects, holds, heals, and waits until all affected orders move again."""
        self.await_calm()
        injections, running = [], []
        for each in faults:
            injection = Injection(each, time.monotonic())
            injection.is_alone = len(faults) == 1
            injections.append(injection)
            self.injections.append(injection)
            self.history.note("fault", name=each.name)
            generator = each.make(self.stage, self.dice)
            self.stage.struck_at = None
            hold_s = self.advance(injection, generator)
            injection.began_at = self.stage.struck_at or injection.began_at
            if injection.failure is None:
                running.append((injection, generator, time.monotonic() + hold_s))
        for injection, generator, until in sorted(running, key=lambda each: each[2]):
            self.stage.wait_s(max(0.0, until - time.monotonic()))
            self.advance(injection, generator)
            injection.healed_at = time.monotonic()
            self.history.note("healed", name=injection.fault.name)
        if any(injection.failure for injection in injections):
            self.mend(self.stage)
        for injection in injections:
            self.measure(injection)

    def advance(self, injection, generator):
        """Runs the generator to its yield or to its end. A tool of the nemesis that fails or hangs is an entry in the report, not
        the run's end."""
        try:
            return next(generator, None)
        except Exception as error:  # pylint: disable=broad-except  # rabbitmqctl, SQL, HTTP and signals fail each in its own way
            words = str(error).strip() or type(error).__name__
            injection.failure = words.splitlines()[0]
            self.history.note("failed", name=injection.fault.name, text=injection.failure, trace=traceback.format_exc())
            return None

    def measure(self, injection):
        """For a fault that was not injected or healed completely, only the return of movement is checked; its time is no measure.
        """
        if injection.failure is not None:
            injection.healed_at = injection.began_at = time.monotonic()
        since = injection.began_at if injection.fault.measure in (KILL, SILENCE) else injection.healed_at

        def has_recovered():
            waits = self.load.waits(since, TOUCHED_S)
            return time.monotonic() > since + TOUCHED_S and None not in waits

        came_back = self.stage.wait(has_recovered, GIVE_UP_S)
        waits = [wait for wait in self.load.waits(since, TOUCHED_S) if wait is not None]
        injection.has_given_up = not came_back
        recovery_s = max(waits, default=0.0) if came_back else GIVE_UP_S
        if injection.failure is None:
            injection.recovery_s = recovery_s
        self.history.note("recovered", name=injection.fault.name, seconds=round(recovery_s, 3), touched=len(waits))
