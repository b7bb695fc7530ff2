"""Processes and servers that die, sleep or come back: nothing is lost, nothing is done twice, nothing waits."""

import os
import pathlib
import time

import psycopg2

from harness import PAIRS, scenario, step
from local import processes

ORDERS = 60
LONG = "10m"   # a step's complete-by in these scenarios: a wait for it fails the test by the deadline
BACK = "10s"   # of orders that turn back: an undo waits for that of a request that was redelivered (law 11, quiesce), and for no more
AFTER_KILL_S = 60.0


def load_long(s, name="long"):
    for workflow, within in ((name, LONG), (f"{name}-back", BACK)):
        steps = [step("reserve", "inventory"), step("charge", "payment", after=["reserve"]),
                 step("ship", "carrier", after=["charge"])]
        for each in steps:
            each["complete_within"] = within
            each["undo"]["complete_within"] = LONG  # a paused agent can hold one until the broker misses its heartbeats
        s.load_workflow(workflow, steps, complete_within="15m")


def submit_mixed(s, count=ORDERS, workflow="long"):
    """Orders of which the carrier declines every fifth and some take their time: (order, its expected end)."""
    orders = []
    for number in range(count):
        payload = {"n": number}
        if number % 5 == 4:
            payload["behaviour"] = {"carrier": "decline"}
        elif number % 5 == 2:
            payload["behaviour"] = {"payment": "slow:1000"}
        word = "compensated" if number % 5 == 4 else "processed"
        orders.append((s.client.submit(workflow if word == "processed" else f"{workflow}-back", payload), word))
    return orders


def wait_some_ended(s, orders, share=3):
    s.wait(lambda: s.rows("SELECT count(*) AS n FROM order_process WHERE wake_at IS NULL")[0]["n"] >= len(orders) // share,
           f"a part of {len(orders)} orders has ended")


def check_all(s, orders, timeout_s=AFTER_KILL_S):
    """Every order ends as expected and its client receives the last status; the ledgers agree."""
    deadline = time.monotonic() + timeout_s
    for order, word in orders:
        s.wait_state(order, word, max(1.0, deadline - time.monotonic()))
    entries = {name: s.remote(name).entries() for name in s.cluster.remotes}
    for order, word in orders:
        want = "done" if word == "processed" else "undone"
        for service, name in (("inventory", "reserve"), ("payment", "charge")):
            entry = entries[service][f"{order.order_id}.{name}.do"]
            assert entry["state"] == want and entry["effects"] == 1, entry


def check_told(s, orders):
    for order, word in orders:
        s.client.wait_status(order, word)
        seqs = [message["seq"] for message in s.client.statuses(order.order_id)]
        assert seqs == list(range(1, len(seqs) + 1)), seqs


def kill_and_check(s, victim):
    load_long(s)
    orders = submit_mixed(s)
    wait_some_ended(s, orders)
    victim.kill()
    s.ends_badly.add(victim.name)
    check_all(s, orders)
    check_told(s, orders)
    victim.start().wait_ready()


@scenario(**PAIRS)
def a_killed_scheduler_loses_nothing_and_delays_no_order(s):
    """Would catch: a cause acked before its effects were durable."""
    kill_and_check(s, s.cluster.schedulers[0])


@scenario(**PAIRS)
def a_killed_agent_loses_nothing_and_delays_no_order(s):
    """Would catch: a request acked before its reply was confirmed."""
    kill_and_check(s, s.cluster.agents_of("payment")[0])


@scenario(**PAIRS)
def a_killed_supervisor_loses_nothing_and_delays_no_order(s):
    """Would catch: state that exists only in the memory of one supervisor."""
    kill_and_check(s, leader(s))


@scenario(long="the simulator plays it with every seed")
def everything_of_ours_killed_at_once_comes_back(s):
    """Would catch: state in memory that the tables do not have."""
    load_long(s)
    orders = submit_mixed(s)
    wait_some_ended(s, orders, share=6)
    for process in s.cluster.all:
        process.kill()
    for process in s.cluster.all:
        process.start()
    check_all(s, orders)
    check_told(s, orders)


@scenario(own_servers=True, **PAIRS, long="a broker dies, or all runs once more over TLS")
def a_killed_broker_comes_back_and_nothing_is_lost(s):
    """Would catch: a message that was taken for delivered, or a service that does not connect again."""
    s.servers.rabbit.settle()  # or the kill may hit queues that RabbitMQ itself has not yet written down
    for process in s.cluster.all:
        process.wait_ready()
    load_long(s)
    orders = submit_mixed(s)
    wait_some_ended(s, orders)
    s.servers.rabbit.kill()
    s.wait(lambda: not s.cluster.schedulers[0].is_ready(), "the scheduler says that it is not ready")
    s.servers.rabbit.restart()
    check_all(s, orders)
    for process in s.cluster.all:
        process.wait_ready()


@scenario(own_servers=True, **PAIRS, long="graces, elections and patience pass in real time")
def a_killed_database_comes_back_and_nothing_is_lost(s):
    """Would catch: a commit taken for done, or one that is done twice because its answer was lost."""
    load_long(s)
    orders = submit_mixed(s)
    wait_some_ended(s, orders)
    s.servers.postgres.kill()
    s.wait(lambda: not s.cluster.schedulers[0].is_ready(), "the scheduler says that it is not ready")
    s.servers.postgres.restart()
    check_all(s, orders)
    check_told(s, orders)
    for process in s.cluster.all:
        process.wait_ready()


def leader(s):
    return s.wait(lambda: next((supervisor for supervisor in s.cluster.supervisors if supervisor.is_running()
                                and supervisor.metric("makegood_supervisor_leading") == 1), None), "a supervisor leads")


@scenario(supervisors=2, long="the simulator plays it with every seed")
def another_supervisor_leads_within_two_seconds_of_a_kill(s):
    """Would catch: a lock that outlives its holder."""
    old = leader(s)
    other = next(supervisor for supervisor in s.cluster.supervisors if supervisor is not old)
    began = time.monotonic()
    old.kill()
    s.ends_badly.add(old.name)
    s.wait(lambda: other.metric("makegood_supervisor_leading") == 1, "the other leads", 10)
    assert time.monotonic() - began < 2.0, f"it took {time.monotonic() - began:.2f} s"


@scenario(**PAIRS, long="graces, elections and patience pass in real time")
def a_paused_leader_is_replaced_and_changes_nothing_on_waking(s):
    """Would catch: two leaders after a pause, without a fence by their epochs."""
    old = leader(s)
    other = next(supervisor for supervisor in s.cluster.supervisors if supervisor is not old)
    epoch = s.rows("SELECT epoch FROM supervisor_leader")[0]["epoch"]
    old.pause()
    s.wait(lambda: other.metric("makegood_supervisor_leading") == 1, "the other leads")
    load_long(s)
    orders = submit_mixed(s, 20)
    check_all(s, orders)
    row = s.rows("SELECT epoch, holder FROM supervisor_leader")[0]
    assert row["epoch"] == epoch + 1, row
    before = s.rows("SELECT order_id, version FROM order_process ORDER BY order_id")
    old.resume()
    s.wait(lambda: old.get("/metrics")[0] == 200 and old.metric("makegood_supervisor_leading") == 0, "the old one has stepped down")
    s.wait(lambda: old.is_ready(), "the old one stands by")
    assert s.rows("SELECT order_id, version FROM order_process ORDER BY order_id") == before
    assert s.rows("SELECT epoch, holder FROM supervisor_leader")[0] == row


def pause_and_check(s, victim):
    """Stops a process past its heartbeat with work in its hands; others finish the work before it wakes."""
    load_long(s)
    orders = submit_mixed(s)
    s.wait(lambda: s.rows("SELECT 1 FROM order_process LIMIT 1"), "the first orders are taken")
    victim.pause()
    try:
        check_all(s, orders)
        before = s.rows("SELECT order_id, version, process_state FROM order_process ORDER BY order_id")
        effects = {name: s.remote(name).ledger_report()["totals"]["effects"] for name in s.cluster.remotes}
    finally:
        victim.resume()
    victim.wait_ready()
    s.wait(lambda: s.client.depth("scheduler.replies") == 0 and s.client.depth("agent.payment.requests") == 0,
           "nothing is left in the queues")
    assert s.rows("SELECT order_id, version, process_state FROM order_process ORDER BY order_id") == before
    assert {name: s.remote(name).ledger_report()["totals"]["effects"] for name in s.cluster.remotes} == effects
    check_told(s, orders)


@scenario(**PAIRS, long="graces, elections and patience pass in real time")
def a_paused_scheduler_is_taken_over_and_changes_nothing_on_waking(s):
    """Would catch: writes that are not guarded by the version."""
    pause_and_check(s, s.cluster.schedulers[0])


@scenario(**PAIRS, long="graces, elections and patience pass in real time")
def a_paused_agent_is_taken_over_and_changes_nothing_on_waking(s):
    """Would catch: an effect or a reply that counts twice."""
    pause_and_check(s, s.cluster.agents_of("payment")[0])


@scenario()
def a_request_past_its_complete_by_is_dropped_in_silence(s):
    """Would catch: an agent that acts, or answers, after the scheduler may have given the step to another one."""
    payment = s.cluster.agents_of("payment")[0]
    s.load_workflow("brief", [step("charge", "payment", complete_within="1s", retry={"attempts": 1})])
    payment.pause()
    order = s.client.submit("brief", {"n": 1})
    s.wait(lambda: s.state(order) in ("compensating", "compensated"), "the order turns back")
    payment.resume()
    s.wait_state(order, "compensated")
    assert s.effect(order, "charge", "payment")["effects"] == 0


@scenario(schedulers=4, options={"scheduler": ("--prefetch", 4)}, long="the simulator plays it with every seed")
def many_schedulers_take_each_order_once(s):
    """Would catch: a claim that is not exclusive."""
    load_long(s)
    first = s.client.submit("long", {"n": 0})
    s.client.wait_status(first, "processed")
    # All goes to the scheduler of the highest rank while it has room; the others get the rest while it stalls.
    holder = s.rows("SELECT locked_by FROM order_process")[0]["locked_by"]
    held = next(each for each in s.cluster.schedulers if each.pid == int(holder.split(":")[1]))
    held.pause()
    try:
        orders = [s.client.submit("long", {"n": number}) for number in range(1, 100)]
        s.wait(lambda: s.rows("SELECT count(*) AS n FROM order_process WHERE process_state = 'processed' AND locked_by <> %s",
                              holder)[0]["n"] >= len(orders) // 2, "half of the orders are processed by others")
    finally:
        held.resume()
    check_all(s, [(order, "processed") for order in [first, *orders]])
    check_told(s, [(order, "processed") for order in [first, *orders]])


@scenario(**PAIRS)
def services_end_on_sigterm_with_work_in_hand_and_lose_nothing(s):
    """Would catch: a deployment that loses or doubles orders."""
    load_long(s)
    orders = submit_mixed(s)
    wait_some_ended(s, orders, share=6)
    for process in [s.cluster.schedulers[0], s.cluster.agents_of("payment")[0], leader(s)]:
        assert process.terminate() == 0, process.tail()
        process.start().wait_ready()
    check_all(s, orders)
    check_told(s, orders)


def transaction_pool(s):
    """A pgbouncer that gives each transaction another session, and the DSN through it."""
    port, database = processes.free_port(), s.dsn.rpartition("/")[2]
    users = s.scratch / "users.txt"
    users.write_text(f'"makegood" "{s.servers.postgres.password}"\n', encoding="ascii")
    ini = s.scratch / "pgbouncer.ini"
    ini.write_text(f"[databases]\n{database} = host=127.0.0.1 port={s.servers.postgres.port} dbname={database}\n"
                   f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = plain\n"
                   f"auth_file = {users}\npool_mode = transaction\nignore_startup_parameters = extra_float_digits,options\n",
                   encoding="ascii")
    for path in (users, ini):
        path.chmod(0o644)
    user = "postgres" if os.geteuid() == 0 else None  # pgbouncer refuses to run as root
    pooler = processes.Process("pgbouncer", ["/usr/sbin/pgbouncer", ini], s.scratch / "pgbouncer.log", user=user).start()
    return pooler, f"postgresql://makegood:{s.servers.postgres.password}@127.0.0.1:{port}/{database}"


@scenario()
def a_supervisor_refuses_to_lead_through_a_transaction_pool(s):
    """Would catch: a leader's lock on a session that a pool shares among clients."""
    pooler, dsn = transaction_pool(s)
    pooled = s.cluster.make("supervisor", "supervisor-pooled")
    pooled.env["MAKEGOOD_PG_DSN"] = dsn
    pooled.start()
    s.wait(lambda: "pool" in pooled.tail(200).lower(), "it says why")
    assert pooled.metric("makegood_supervisor_leading") == 0
    pooled.terminate()
    pooler.terminate()


@scenario(schedulers=0)
def a_transaction_pool_between_schedulers_and_database_is_called_that(s):
    """Would catch: a message about prepared statements alone, which explains nothing."""
    pooler, dsn = transaction_pool(s)
    pooled = [s.cluster.make("scheduler", f"scheduler-pooled-{number}") for number in (1, 2)]
    for scheduler in pooled:
        scheduler.env["MAKEGOOD_PG_DSN"] = dsn
        scheduler.start()
    s.wait(lambda: all(scheduler.metric("makegood_store_connects_total") for scheduler in pooled), "they have used the pool")
    takers = [psycopg2.connect(dsn) for _ in range(4)]  # transactions in the sessions that the schedulers have used
    for taker in takers:
        taker.cursor().execute("SELECT 1")
    orders = [s.client.submit() for _ in range(3)]
    s.wait(lambda: any("a pooler gives each transaction another session: let it pool sessions" in scheduler.tail(200)
                       for scheduler in pooled), "it is named")
    for taker in takers:
        taker.close()
    for scheduler in pooled:
        scheduler.terminate()
    pooler.terminate()
    direct = s.cluster.make("scheduler", "scheduler-direct").start()
    for order in orders:
        s.client.wait_status(order, "processed")
    direct.terminate()


def assert_refused(s, words):
    refused = s.cluster.make("scheduler", "scheduler-refused").start()
    s.wait(lambda: not refused.is_running(), "it exits")
    assert refused.popen.returncode == 1 and words in refused.tail(50), refused.tail(50)


@scenario(long="others of its kind are quick")
def services_refuse_a_database_that_forgets_commits(s):
    """Would catch: orders stored on a server without durable commits."""
    s.servers.postgres.psql(f'ALTER DATABASE "{s.dsn.rpartition("/")[2]}" SET synchronous_commit = off')
    assert_refused(s, "synchronous_commit")


@scenario(long="others of its kind are quick")
def services_refuse_a_schema_that_does_not_serve_them(s):
    """Would catch: an old program that writes into tables of a newer schema."""
    s.rows("UPDATE makegood_migration SET version = version + 1000, serves_from = 1000"
           " WHERE version = (SELECT max(version) FROM makegood_migration) RETURNING version")
    assert_refused(s, "schema")


ALERTS_LOCKED_S = 20  # ten times lock_timeout; a delivery that was redelivered with each would be near its limit


@scenario(schedulers=2, supervisors=2, long="graces, elections and patience pass in real time")
def a_locked_table_costs_time_and_nothing_else(s):
    """Another session locks the alerts' table before its first write. Would catch: a session given up for a statement that waited
    in vain; consumers begun anew with each; dead letters; a flooded log."""
    load_long(s, "judged")
    s.load_workflow("strict", [step("reserve", "inventory"), step("charge", "payment", after=["reserve"])], on_failure="error")
    connects = [scheduler.metric("makegood_store_connects_total") for scheduler in s.cluster.schedulers]
    locker = psycopg2.connect(s.dsn)
    locker.cursor().execute("LOCK TABLE operator_alert IN ACCESS EXCLUSIVE MODE")
    orders = submit_mixed(s, workflow="judged")
    stuck = [s.client.submit("strict", {"behaviour": {"payment": "decline"}}) for _ in range(ORDERS)]
    until = time.monotonic() + ALERTS_LOCKED_S
    s.wait(lambda: time.monotonic() > until, "the lock has been held for long")
    locker.rollback()
    locker.close()
    check_all(s, orders)
    for order in stuck:
        s.wait_state(order, "error")
    check_told(s, orders)
    assert s.client.depth("dead.letters") == 0
    assert [scheduler.metric("makegood_store_connects_total") for scheduler in s.cluster.schedulers] == connects
    assert sum(scheduler.metric("makegood_redeliveries_total") for scheduler in s.cluster.schedulers) == 0
    for scheduler in s.cluster.schedulers:
        assert pathlib.Path(scheduler.log_path).read_text(encoding="utf-8").count("could not store an alert") <= 1
