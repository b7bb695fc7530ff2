"""A process that does not move while work waits, or that is not seen any more, is named: by itself, by the tool, by an alert."""

import contextlib
import json
import os
import signal
import time

import psycopg2

import test_gateway as gateway
from harness import scenario, step
from local import processes

TOLD_S = 15 + 25  # the promise, and the slack of a machine that runs other tests alongside this one


@contextlib.contextmanager
def locked(s, sql):
    """Another session holds a lock, as a forgotten psql does."""
    session = psycopg2.connect(s.dsn)
    try:
        session.cursor().execute(sql)
        yield
    finally:
        session.close()


def doctor(s):
    done = s.cluster.tool("doctor", check=False)
    return done.stdout


def wrong(s, part):
    return [line for line in doctor(s).splitlines() if line.startswith("WRONG") and part in line]


def unready(process, part):
    status, text = process.get("/readyz")
    return status == 503 and part in text


@scenario(services=("payment",), long="time-outs and reports pass in real time")
def a_scheduler_that_the_database_holds_up_is_named_by_all_that_look(s):
    """Would catch: a table that stays locked, while everything reports that it is well."""
    s.load_workflow("pay", [step("charge", "payment")])
    first = s.client.submit("pay")
    s.client.wait_status(first, "processed")
    scheduler = s.cluster.schedulers[0]
    s.wait(lambda: not wrong(s, "scheduler"), "doctor finds the scheduler well", TOLD_S)
    with locked(s, "LOCK TABLE order_process IN ACCESS EXCLUSIVE MODE"):
        held = s.client.submit("pay")
        s.wait(lambda: unready(scheduler, "no work has ended for"), "the scheduler reports its standstill", TOLD_S)
        s.wait(lambda: any(line.startswith("makegood_standstill_seconds ") and float(line.split()[1]) >= 12
                           for line in scheduler.get("/metrics")[1].splitlines()), "a metric has it, from the next look on", TOLD_S)
        line = s.wait(lambda: wrong(s, "does not move since"), "doctor names it", TOLD_S)[0]
        assert "55P03" in line or "lock" in line, line
        s.wait(lambda: s.rows("SELECT 1 FROM operator_alert WHERE code = 'standstill' AND closed_at IS NULL"), "an alert is open", TOLD_S)
    s.client.wait_status(held, "processed")
    scheduler.wait_ready()
    s.wait(lambda: not wrong(s, "scheduler"), "doctor finds it well again", TOLD_S)
    s.wait(lambda: not s.rows("SELECT 1 FROM operator_alert WHERE code = 'standstill' AND closed_at IS NULL"), "the alert is closed", 90)


@scenario(services=("payment",), long="alerts, pauses and time-outs pass in real time")
def a_frozen_scheduler_is_distinguished_from_one_that_is_gone(s):
    """Would catch: the only scheduler, frozen with posted orders in its hands, while the tool finds everything well."""
    s.load_workflow("pay", [step("charge", "payment")])
    s.client.wait_status(s.client.submit("pay"), "processed")
    scheduler = s.cluster.schedulers[0]
    s.wait(lambda: not wrong(s, "scheduler"), "doctor finds the scheduler well", TOLD_S)
    scheduler.pause()
    held = s.client.submit("pay")
    # Until the broker drops its silent connection, after two heartbeats, it consumes.
    s.wait(lambda: wrong(s, "one that consumes is not seen"), "doctor names a scheduler that consumes and is not seen", TOLD_S)
    s.wait(lambda: wrong(s, "was last seen"), "doctor names the frozen one", TOLD_S)
    seen = s.cluster.tool("top", "-o", "json", check=False).stdout
    assert "is not seen any more" in seen, seen
    s.wait(lambda: s.rows("SELECT 1 FROM operator_alert WHERE code = 'standstill' AND closed_at IS NULL"), "an alert is open", TOLD_S)
    done = s.cluster.tool("order", "explain", held.order_id, check=False)
    assert done.returncode == 3 and "one that does not move may hold it: see makegood doctor" in done.stderr, done.stderr
    scheduler.resume()
    s.client.wait_status(held, "processed")
    s.wait(lambda: not wrong(s, "scheduler"), "doctor finds it well again", TOLD_S)

    scheduler.kill()
    lost = s.client.submit("pay")
    s.wait(lambda: wrong(s, "no scheduler takes orders; start makegood-scheduler"), "doctor tells that none takes orders", TOLD_S)
    done = s.cluster.tool("order", "explain", lost.order_id, check=False)
    assert done.returncode == 3 and "posted orders wait in orders.intake" in done.stderr and "start makegood-scheduler" in done.stderr, done.stderr
    scheduler.start()
    scheduler.wait_ready()
    s.client.wait_status(lost, "processed")
    s.wait(lambda: not wrong(s, "scheduler"), "the killed one is replaced", TOLD_S)


@scenario(services=("payment",))
def agents_that_report_and_do_not_consume_are_not_serving(s):
    """Would catch: a deaf agent that goes on reporting, so that its service seems well while its orders wait."""
    s.cluster.tool("broker", "apply", "--service", "parcels")
    s.load_workflow("deliver", [step("deliver", "parcels", do={"method": "POST", "path": "/parcels", "body": {}})])
    report = json.dumps({"v": 1, "service": "parcels", "instance": "deaf", "breaker": "closed", "ready": True, "in_flight": 0,
                         "concurrency": 8})

    def state():
        s.client.publish(report, "scheduler.replies", "makegood.replies.parcels", type="service_report")
        rows = json.loads(s.cluster.tool("service", "list", "-o", "json").stdout)
        return next((row["state"] for row in rows if row["service"] == "parcels" and row["agents"] == 1), None)

    s.wait(lambda: state() == "not consuming", "the list of services names it", TOLD_S)
    assert "none consumes from queue agent.parcels.requests" in wrong(s, "service")[0], doctor(s)


@scenario(schedulers=2, supervisors=2, services=("payment",))
def an_end_as_asked_leaves_no_heartbeat(s):
    """Would catch: a process that was ended for good, and is missed for a day."""
    s.wait(lambda: len(s.rows("SELECT 1 FROM process_state")) == 4, "each has written its heartbeat")
    for process in (s.cluster.schedulers[1], s.cluster.supervisors[1]):
        process.terminate()
    rows = s.rows("SELECT kind, instance FROM process_state ORDER BY kind")
    assert [row["kind"] for row in rows] == ["scheduler", "supervisor"], rows


@scenario(services=("payment",), agents=2, long="time-outs and reports pass in real time")
def one_frozen_agent_of_two_is_named_and_one_that_ends_as_asked_is_not(s):
    """Would catch: a frozen agent that keeps its requests, while another of its service makes all seem well."""
    frozen, ended = s.cluster.agents
    s.wait(lambda: len(s.rows("SELECT 1 FROM service_state")) == 2, "both have reported", TOLD_S)
    s.wait(lambda: s.rows("SELECT 1 FROM process_state WHERE kind = 'scheduler' AND started_at < now() - interval '11 s'"),
           "the scheduler has taken reports for a while")
    ended.terminate()
    frozen.pause()
    s.wait(lambda: wrong(s, "last reported"), "doctor names the frozen agent", TOLD_S)
    lines = wrong(s, "last reported")
    assert len(lines) == 1 and f"payment/vm:{frozen.pid}" in lines[0].replace(os.uname().nodename, "vm"), lines
    s.wait(lambda: s.rows("SELECT 1 FROM operator_alert WHERE code = 'standstill' AND closed_at IS NULL"), "an alert is open", TOLD_S)
    frozen.resume()
    s.wait(lambda: not wrong(s, "last reported"), "doctor finds it well again", TOLD_S)


@scenario(services=("payment",), long="time-outs and reports pass in real time")
def fewer_successors_than_before_are_named_for_minutes(s):
    """Would catch: two killed schedulers that one has replaced, and that are missed for a day."""
    s.wait(lambda: s.rows("SELECT 1 FROM process_state WHERE kind = 'scheduler'"), "it has written its heartbeat")
    s.rows("INSERT INTO process_state SELECT kind, 'gone-' || n, started_at - interval '1 day', started_at, 0, NULL, '', ''"
           " FROM process_state, generate_series(1, 2) n WHERE kind = 'scheduler' RETURNING 1")
    s.wait(lambda: len(wrong(s, "gone-")) == 2, "both are missed", TOLD_S)
    s.rows("UPDATE process_state SET seen_at = seen_at - interval '6 minutes', started_at = started_at - interval '6 minutes'"
           " WHERE instance LIKE 'gone-%%' RETURNING 1")
    assert not wrong(s, "gone-"), doctor(s)


@contextlib.contextmanager
def other_receiver(s):
    """Another copy of the server's log is connected, for which no commit waits."""
    postgres = s.servers.postgres
    receiver = processes.Process("receiver", [postgres.bin / "pg_receivewal", "-D", postgres.folder, "-d", postgres.dsn_of("").rstrip("/")],
                                 s.scratch / "receiver.log", user=postgres.user, cwd="/")
    receiver.start()
    try:
        s.wait(lambda: s.rows("SELECT 1 FROM pg_stat_replication"), "it is connected")
        yield
    finally:
        receiver.kill()


@scenario(own_servers=True, services=("payment",), long="time-outs and reports pass in real time")
def commits_that_wait_for_a_standby_are_named(s):
    """Would catch: orders that wait for a synchronous standby that is gone, while nothing names it."""
    s.load_workflow("pay", [step("charge", "payment")])
    s.client.wait_status(s.client.submit("pay"), "processed")
    postgres, scheduler = s.servers.postgres, s.cluster.schedulers[0]
    with other_receiver(s):
        postgres.psql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        postgres.psql("SELECT pg_reload_conf()")
        held = s.client.submit("pay")
        named = "commits wait for a synchronous standby: bring one of nobody back"
        s.wait(lambda: unready(scheduler, "the database"), "the scheduler is not ready", TOLD_S)
        s.wait(lambda: unready(scheduler, named), "the scheduler names the standby", 60)
        assert wrong(s, named), doctor(s)
        postgres.psql("ALTER SYSTEM RESET synchronous_standby_names")
        postgres.psql("SELECT pg_reload_conf()")
    s.client.wait_status(held, "processed")
    scheduler.wait_ready()
    assert not wrong(s, "standby"), doctor(s)


NARROW = {"scheduler": ("--window", 8, "--batch", 16), "supervisor": ("--window", 8)}  # 80 steps of a service may be parked


def limits_payment(agent):
    with open(agent.log_path, encoding="utf-8") as log:
        return any('"limits changed","service":"payment","concurrency":64' in line for line in log)


@contextlib.contextmanager
def slow_payment(s, count):
    """So many orders for a service that takes next to none of them; they all end once it is well."""
    s.load_workflow("slow", [step("charge", "payment", complete_within="10m", undo=False)])
    s.load_workflow("other", [step("reserve", "inventory", undo=False)])
    s.cluster.tool("service", "limit", "payment", "--rate", "0.001", "--reason", "it is slow today")
    s.wait(lambda: any(limits_payment(agent) for agent in s.cluster.agents_of("payment")), "the agent of payment has its limit")  # until then it takes all
    many = [s.client.submit("slow") for _ in range(count)]
    s.wait(lambda: s.client.depth("agent.payment.requests") >= 6, "the queue of payment is full")
    yield
    s.cluster.tool("service", "limit", "payment", "--rate", "none", "--reason", "it is well")
    for order in many:
        s.client.wait_status(order, "processed")


@scenario(services=("inventory", "payment"), options=NARROW, long="alerts, pauses and time-outs pass in real time")
def a_full_queue_holds_up_its_own_orders_only(s):
    """Would catch: one slow service that holds back the new orders of each workflow."""
    parked = "SELECT count(*) AS n FROM order_step WHERE service = 'payment' AND reason = 'window_full'"
    with slow_payment(s, 70):
        for _ in range(3):
            others = [s.client.submit("other") for _ in range(10)]
            for order in others:
                s.client.wait_status(order, "processed")
        assert s.client.depth("agent.payment.requests") >= 6
        s.wait(lambda: s.rows(parked)[0]["n"] >= 20, "the orders that need it are accepted and parked")
        assert not wrong(s, "is full"), doctor(s)


@scenario(services=("inventory", "payment"), options=NARROW, long="alerts, pauses and time-outs pass in real time")
def new_orders_wait_at_the_most_parked_steps_and_this_is_reported(s):
    """Would catch: a flood for one service that fills the database, or holds back all others while all that look call them taken."""
    with slow_payment(s, 150):
        last = s.client.submit("other")
        line = s.wait(lambda: wrong(s, "the queue of service payment is full"), "doctor names the service", TOLD_S)[0]
        assert "new orders of all workflows wait" in line and "the most steps are parked for it" in line, line
        assert "makegood service list" in line, line
        done = s.cluster.tool("order", "explain", last.order_id, check=False)
        assert done.returncode == 3 and "the queue of service payment is full" in done.stderr, done.stderr
        assert "the queue of service payment is full" in s.cluster.tool("top", "-o", "json", check=False).stdout
        assert s.rows("SELECT count(*) AS n FROM order_process")[0]["n"] < 130
    s.client.wait_status(last, "processed")
    s.wait(lambda: not wrong(s, "is full"), "doctor is content", TOLD_S)


@scenario(services=("payment",), long="alerts, pauses and time-outs pass in real time")
def a_gateway_whose_posts_are_held_up_is_named_by_all_that_look(s):
    """Would catch: a locked table for which a gateway refuses every post for as long as it lasts, while its /readyz, doctor, metrics,
    alerts and log find it well; a gateway that is not ready for the requests of one client, or that stays so after the lock."""
    gateway.load(s)
    door = gateway.start(s)

    def is_posted():
        status, _, body = door.ask("POST", "/v1/orders", gateway.order_of()[1])
        assert status in (202, 503), (status, body)
        return status == 202

    def log():
        with open(door.process.log_path, encoding="utf-8") as lines:
            return lines.read()

    assert is_posted()
    with locked(s, "LOCK TABLE orders IN ACCESS EXCLUSIVE MODE"):
        s.wait(lambda: not is_posted() and unready(door.process, "lock timeout"), "the gateway is not ready", TOLD_S)
        # While a report waits for the lock, its session has no answer, which is the reason of that moment.
        s.wait(lambda: any("gateway" in line and "lock timeout" in line for line in wrong(s, "does not move since")), "doctor names it", TOLD_S)
        s.wait(lambda: door.process.metric("makegood_standstill_seconds") >= 5, "its standstill is measured", TOLD_S)
        s.wait(lambda: any("gateway" in one and "does not move" in one for one in s.cluster.tool("top", "-o", "json", check=False).stdout.split(";")),
               "top names it", TOLD_S)
        s.wait(lambda: s.rows("SELECT 1 FROM operator_alert WHERE code = 'standstill' AND closed_at IS NULL"), "an alert is open", TOLD_S)
        # Nobody posts any more, as behind a balancer that goes by /readyz; it is not well all the same.
        quiet_until = time.monotonic() + 12
        s.wait(lambda: not unready(door.process, "") or time.monotonic() > quiet_until, "it is ready, or 12 s are over", TOLD_S)
        assert unready(door.process, ""), door.process.get("/readyz")
    door.process.wait_ready()
    assert is_posted()
    s.wait(lambda: "reads of the database succeed again" in log(), "its log has the end", TOLD_S)
    assert log().count("reads of the database fail") == 1, log()
    s.wait(lambda: not wrong(s, "gateway"), "doctor finds it well again", TOLD_S)


def server_of_the_leader(s):
    """The server process whose session holds the leader's lock."""
    return s.rows("SELECT l.pid FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE l.locktype = 'advisory' AND l.granted"
                  " AND a.application_name = 'makegood-supervisor' AND a.datname = current_database()")[0]["pid"]


@scenario(supervisors=2, own_servers=True, long="alerts, pauses and time-outs pass in real time")
def a_leader_lock_kept_by_its_server_process_is_reported_by_each_supervisor(s):
    """Would catch: a server process that stands, so that no supervisor leads for as long, while each is ready; a standby that is not
    ready alongside a leader that is well."""
    s.wait(lambda: all(process.get("/readyz")[0] == 200 for process in s.cluster.supervisors), "leader and standby are ready", TOLD_S)
    pid = server_of_the_leader(s)
    os.kill(pid, signal.SIGSTOP)
    try:
        part = f"no supervisor leads: session {pid} (makegood-supervisor, from 127.0.0.1)"
        s.wait(lambda: all(unready(process, part) for process in s.cluster.supervisors), "both name the session", 30 + TOLD_S)
        line = s.wait(lambda: wrong(s, "none leads"), "doctor names it", TOLD_S)[0]
        assert f"session {pid} " in line, line
    finally:
        os.kill(pid, signal.SIGCONT)
    for process in s.cluster.supervisors:
        process.wait_ready()
    s.wait(lambda: sum(process.metric("makegood_supervisor_leading") for process in s.cluster.supervisors) == 1, "one leads", TOLD_S)
    s.wait(lambda: not wrong(s, "supervisor"), "doctor finds it well again", TOLD_S)
