"""A database with a clock that is set while orders are on their way: its clock_timestamp() is a function of the test's own."""

import time

from harness import PAIRS, scenario, step

CLOCK = """
    CREATE TABLE test_clock (ahead interval NOT NULL);
    INSERT INTO test_clock VALUES ('0');
    CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
      AS 'SELECT pg_catalog.clock_timestamp() + ahead FROM public.test_clock';
    DO $$ DECLARE found record; BEGIN
      EXECUTE format('ALTER DATABASE %%I SET search_path = public, pg_catalog', current_database());
      FOR found IN SELECT table_name, column_name FROM information_schema.columns
        WHERE table_schema = 'public' AND column_default LIKE '%%clock_timestamp()' LOOP
        EXECUTE format('ALTER TABLE %%I ALTER %%I SET DEFAULT public.clock_timestamp()', found.table_name, found.column_name);
      END LOOP; END $$;
    SELECT 'done'"""
BEGIN_ANEW = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()"""

MOVES_WITHIN_S = 10.0
LOAD_S = 6.0  # of orders after each step of the clock
REST_S = 0.1  # between two orders


def own_clock(s):
    s.rows(CLOCK)
    s.rows(BEGIN_ANEW)
    for process in s.cluster.schedulers + s.cluster.supervisors:
        process.wait_ready()


def set_ahead(s, ahead):
    s.rows("UPDATE test_clock SET ahead = %s::interval RETURNING ahead", ahead)


class Load:
    """Orders one after the other. Each has to move within the bound, counted from its posting or from the last step of the clock.
    """

    def __init__(self, s):
        self.s, self.open, self.ended = s, {}, 0

    def post(self, **arguments):
        self.open[self.s.client.submit(**arguments)] = time.monotonic()

    def look(self, since):
        """Removes ended orders; `since`: when the clock was set."""
        self.s.client.pump()
        for order, posted in list(self.open.items()):
            seen = self.s.client.statuses(order.order_id)
            if any(message["status"] == "processed" for message in seen):
                del self.open[order]
                self.ended += 1
            assert not any(message["status"] in ("compensating", "rejected", "error") for message in seen), \
                f"{seen}\n{self.s.story(order)}"
            waited = time.monotonic() - max(posted, since)
            assert order not in self.open or waited < MOVES_WITHIN_S, \
                f"{order.order_id} has not ended {waited:.1f} s later: {seen}\n{self.s.story(order)}"

    def run(self, since, for_s):
        next_post = time.monotonic()
        while time.monotonic() < since + for_s:
            if time.monotonic() >= next_post:
                self.post()
                next_post += REST_S
            self.look(since)

    def finish(self, since):
        while self.open:
            self.look(since)

    def check(self):
        """A request that is answered unsent is not counted, so any additional attempt is a burnt one."""
        judged = self.s.rows("SELECT order_id, step, attempt, cause_kind, reason FROM order_event WHERE cause_kind IN ('overdue', 'expired')")
        assert not judged, f"deadlines were judged: {judged}"
        turned = self.s.rows("SELECT order_id, process_state, failure_count FROM order_process"
                             " WHERE process_state <> 'processed' OR failure_count > 0")
        assert not turned, f"attempts were burnt, or orders turned back: {turned}"


def patient(_name, service):
    service["try_timeout"] = "20s"
    return service


@scenario(edit_service=patient, **PAIRS, long="clocks are set, and orders run on for a while")
def a_database_clock_that_is_set_burns_no_attempt_and_holds_no_order_up(s):
    """Would catch: agents that drop every request as late for a minute after the step, or are unready while the clock is off;
    attempts that are judged because the clock jumped; orders that sleep for as long as it was ahead."""
    own_clock(s)
    s.load_workflow("long", [step("charge", "payment", complete_within="8s")])
    load = Load(s)
    load.run(time.monotonic(), 3.0)
    for ahead in ("-30 s", "0", "-1 h", "0", "1 h", "0"):
        for _ in range(3):  # under way when the clock is set, for longer than the grace of a gap
            load.post(workflow="long", payload={"behaviour": "slow:6000"})
        load.run(time.monotonic(), 1.0)
        set_ahead(s, ahead)
        since = time.monotonic()
        load.run(since, LOAD_S)
        load.finish(since)
        load.check()
    print(f"{load.ended} orders")


@scenario(**PAIRS, long="clocks are set, and orders run on for a while")
def the_first_order_after_a_step_of_the_clock_burns_no_attempt(s):
    """Would catch: an agent that learns the database's clock only from its requests."""
    own_clock(s)
    load = Load(s)
    for ahead in ("0", "-30 s", "0", "-1 h", "1 h", "0"):
        set_ahead(s, ahead)
        since = time.monotonic()
        load.post()
        load.finish(since)
        load.check()
        assert time.monotonic() - since < MOVES_WITHIN_S
        s.wait(lambda since=since: time.monotonic() > since + 4.0, "idle for a while")


def busy(_name, service):
    return {**service, "concurrency": 4, "tries": 1, "try_timeout": "20s", "breaker": {"min_calls": 100000}}


@scenario(services=("payment",), edit_service=busy, long="clocks are set, and orders run on for a while")
def a_step_back_of_the_clock_burns_no_attempt_of_a_busy_agent(s):
    """Would catch: a busy agent that drops the messages waiting in its queue, from the step until it receives the new time."""
    own_clock(s)
    s.load_workflow("pay", [step("charge", "payment", complete_within="8s", retry={"attempts": 1})])
    load = Load(s)

    def stay_busy(since, for_s):
        while time.monotonic() < since + for_s:
            for _ in range(8 - len(load.open)):  # twice as many as the agent calls at a time
                load.post(workflow="pay", payload={"behaviour": "slow:300"})
            load.look(since)

    stay_busy(time.monotonic(), 5.0)
    for ahead in ("-30 s", "-60 s", "-90 s"):
        set_ahead(s, ahead)
        stay_busy(time.monotonic(), 6.3)  # at 6.3 s the next messages fall into another moment after the step
    load.finish(time.monotonic())
    load.check()
    print(f"{load.ended} orders")
