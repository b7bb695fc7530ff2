"""An order that waits for a lock is named within 15 s: by the alert, by doctor and top, and by the order's own explanation."""

import contextlib
import json

import psycopg2

from harness import scenario
from test_isolation import go_on, held, in_the_middle

TOLD_S = 15 + 15  # the promise, and the slack of a machine that runs other tests alongside this one
CLOSED_S = 60     # an alert closes when its cause was not seen for 15 s


def open_alert(s, order):
    found = [alert for alert in s.alerts("order_passed_by") if alert["closed_at"] is None and order.order_id in alert["text"]]
    return found[0]["text"] if found else None


def wrong(s, part):
    lines = s.cluster.tool("doctor", check=False).stdout.splitlines()
    return [line for line in lines if line.startswith("WRONG") and part in line]


def named(s, order, reason):
    """Alert, doctor, top and explain name order and reason; returns the explanation."""
    text = s.wait(lambda: open_alert(s, order), "an alert names the order", TOLD_S)
    assert reason in text, text
    line = s.wait(lambda: wrong(s, order.order_id), "doctor names the order", TOLD_S)[0]
    assert reason in line, line
    top = json.loads(s.cluster.tool("top", "-o", "json", check=False).stdout)
    assert order.order_id in json.dumps(top), top
    explained = s.cluster.tool("order", "explain", order.order_id).stdout
    assert reason in explained, explained
    return explained


def ended(s, order):
    s.wait_state(order, "processed", 30)
    s.wait(lambda: not open_alert(s, order), "the alert closes by itself", CLOSED_S)
    assert not wrong(s, order.order_id)
    assert "locked by" not in s.cluster.tool("order", "explain", order.order_id).stdout


def locked_row(s, table):
    order, = in_the_middle(s)
    with held(s, f"/* forgotten */ SELECT pg_backend_pid() FROM {table} WHERE order_id = %s FOR UPDATE", order.order_id):
        holder = s.rows("SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'"
                        " AND query LIKE '%%forgotten%%'")[0]["pid"]
        go_on(s)
        explained = named(s, order, f"locked by session {holder}")
        assert f"pg_terminate_backend({holder})" in explained, explained
    ended(s, order)


@scenario(long="alerts, pauses and time-outs pass in real time")
def an_order_with_a_locked_row_is_named_with_the_session_that_locks_it(s):
    """Would catch: an order that a forgotten psql locks, and that a metric alone counts."""
    locked_row(s, "order_process")


@scenario(long="time-outs and reports pass in real time")
def an_order_with_a_locked_step_is_named_with_the_session_that_locks_it(s):
    """Would catch: the same by the row of a step, which no sweep locks."""
    locked_row(s, "order_step")


@scenario(long="time-outs and reports pass in real time")
def a_locked_order_whose_deadline_has_passed_is_named_though_no_sweep_takes_it(s):
    """Would catch: an overdue order that each sweep skips for its lock, so that no scheduler ever gets a cause of it."""
    order, = in_the_middle(s)
    with held(s, "SELECT FROM order_process WHERE order_id = %s FOR UPDATE", order.order_id):
        # only the row's hint is due, by a second session: the test cannot wait for the attempt's own time
        explained = None
        s.wait(lambda: s.rows("SELECT 1 FROM order_process WHERE order_id = %s AND wake_at < now() - interval '5 s'", order.order_id),
               "the attempt is overdue", 90)
        explained = named(s, order, "locked by session")
        assert "waits" in explained, explained
    go_on(s)
    ended(s, order)


@contextlib.contextmanager
def prepared(s, gid, sql, *parameters):
    """A transaction of somebody else that is prepared, and whose coordinator is gone."""
    session = psycopg2.connect(s.dsn)
    try:
        session.tpc_begin(session.xid(0, gid, "branch"))
        with session.cursor() as cursor:
            cursor.execute(sql, parameters)
        session.tpc_prepare()
        name = s.rows("SELECT gid FROM pg_prepared_xacts WHERE database = current_database()")[0]["gid"]
        yield name
    finally:
        session.tpc_rollback()
        session.close()


@scenario(long="time-outs and reports pass in real time")
def an_order_that_a_prepared_transaction_locks_is_named_with_its_remedy(s):
    """Would catch: a lock without a session, for which there is nothing to terminate."""
    order, = in_the_middle(s)
    with prepared(s, "lost", "UPDATE order_process SET locked_by = 'them' WHERE order_id = %s", order.order_id) as gid:
        go_on(s)
        explained = named(s, order, "locked by the prepared transaction")
        assert f"ROLLBACK PREPARED '{gid}'" in explained, explained
    ended(s, order)


@scenario(long="time-outs and reports pass in real time")
def an_order_whose_rows_a_trigger_refuses_for_a_while_is_named_with_the_reason(s):
    """Would catch: an order that waits aside for another reason than a lock, and is not named until it is set aside."""
    order, = in_the_middle(s)
    s.rows("""CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
              RAISE 'the ledger is closed' USING ERRCODE = '55006'; END $$;
              SELECT 1""")
    s.rows(f"""CREATE TRIGGER refuse BEFORE UPDATE ON order_process FOR EACH ROW WHEN (OLD.order_id = '{order.order_id}')
               EXECUTE FUNCTION refuse(); SELECT 1""")
    go_on(s)
    named(s, order, "the ledger is closed")
    s.rows("DROP TRIGGER refuse ON order_process; SELECT 1")
    ended(s, order)


@scenario(schedulers=0, supervisors=0, agents=0, long="alerts, pauses and time-outs pass in real time")
def doctor_counts_a_table_that_cannot_be_read(s):
    """Would catch: a check that vanishes from doctor's lines with its table, and "all checks good"."""
    checks = {"operator_alert": "alerts", "reply_queue": "statuses", "bulk_runner": "bulk actions", "supervisor_leader": "supervisor",
              "process_state": "processes", "service_state": "services"}
    for table, check in checks.items():
        with held(s, f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"):
            done = s.cluster.tool("doctor", check=False)
        lines = [line for line in done.stdout.splitlines() if line.startswith(f"WRONG {check}") and "(55P03)" in line]
        assert done.returncode != 0 and lines, (table, done)
