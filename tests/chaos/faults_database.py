"""PostgreSQL: killed, stopped, read-only, crowded, full, locked, failed over, and with the wrong time."""

import os
import shutil
import signal

import psycopg2

import slow_sweeps
from faults_broker import signal_all
from local import processes, servers
from nemesis import OTHER, SERVER, fault
from stage import Clock, Postgres

SILENT_S = 30.0
LAG_S = 5.0         # of each sweep: longer than --gap, and shorter than the statement time-out
LAGGING_S = 55.0    # in which attempts with 30 s begin and must be judged
CLOCK_SET_S = 8.0
JUDGED_S = 20.0     # an attempt is judged this late at most: two sweeps, with their duration on a busy machine


def up_again(stage):
    """It may have ended, may be ending, or may be recovering by itself."""
    def accepts():
        if not stage.postgres.process.is_running():
            stage.postgres.start()
        return stage.postgres.accepts()
    processes.wait_until(accepts, "PostgreSQL accepts connections", 60)


@fault("database: immediate stop", rows=(13, 66), measure=SERVER, touches=("database",))
def database_stopped(stage, _dice):
    os.kill(stage.postgres.process.pid, signal.SIGQUIT)
    processes.wait_until(lambda: not stage.postgres.process.is_running(), "PostgreSQL has ended")
    yield 1.0
    up_again(stage)


@fault("database: kill -9 of postmaster and backends", rows=(66,), measure=SERVER, touches=("database",))
def database_killed(stage, _dice):
    stage.postgres.kill()
    yield 1.0
    up_again(stage)


@fault("database: kill -9 of one backend", rows=(66,), measure=SERVER, touches=("database",))
def backend_killed(stage, dice):
    backends = stage.rows("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
    os.kill(dice.choice(backends)["pid"], signal.SIGKILL)
    yield 0.5
    up_again(stage)


@fault("database: all sessions terminated", rows=(66, 41), measure=SERVER, touches=("database",))
def sessions_terminated(stage, _dice):
    stage.rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' "
               "AND pid <> pg_backend_pid()")
    yield 0.5


@fault("leader's session terminated", rows=(41,), measure=SERVER, touches=("database",))
def leaders_session_terminated(stage, _dice):
    stage.rows("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted")
    yield 0.5


@fault("database: stopped for 30 s", rows=(13, 68), measure=SERVER, touches=("database",))
def database_paused(stage, _dice):
    pids = stage.postgres.all_pids()
    stage.is_blind = True
    signal_all(pids, signal.SIGSTOP)
    yield SILENT_S
    signal_all(pids, signal.SIGCONT)
    stage.is_blind = False
    stage.postgres.wait_ready()


@fault("database: read-only", rows=(70,), measure=SERVER, touches=("database",))
def database_read_only(stage, _dice):
    stage.postgres.psql("ALTER SYSTEM SET default_transaction_read_only = on", "postgres")
    stage.postgres.psql("SELECT pg_reload_conf()", "postgres")
    yield 6.0
    stage.postgres.psql("ALTER SYSTEM RESET default_transaction_read_only", "postgres")
    stage.postgres.psql("SELECT pg_reload_conf()", "postgres")


@fault("database: too many clients", rows=(70,), measure=SERVER, touches=("database",))
def too_many_clients(stage, _dice):
    crowd = []
    try:
        while True:
            crowd.append(stage.session())
    except psycopg2.Error:
        pass
    for route, protocol in stage.proxy.protocols.items():
        if protocol == "pg":
            stage.proxy.close(route)
    try:
        while True:
            crowd.append(stage.session())
    except psycopg2.Error:
        pass
    stage.is_blind = True
    yield 6.0
    for each in crowd:
        each.close()
    stage.is_blind = False


@fault("database: slow store", rows=(20,), measure=OTHER, touches=("database", "broker", "supervisor", "agent"))
def store_slow(stage, dice):
    """Each sweep takes longer than a gap, while the agents of a service stall, so that attempts expire. Without a broker no
    supervisor can ask for their ends."""
    service = dice.choice(stage.cluster.services)
    slow_sweeps.begin(stage.postgres, servers.DATABASE, LAG_S)
    agents = stage.cluster.agents_of(service)
    for agent in agents:
        agent.pause()
    began = stage.rows("SELECT clock_timestamp() AS now")[0]["now"]
    yield LAGGING_S
    left = stage.rows("SELECT order_id, step, clock_timestamp() - complete_by AS late FROM order_step WHERE state IN "
                      "('running', 'undo_running') AND complete_by < clock_timestamp() - %s * interval '1 second'", JUDGED_S)
    judged = stage.rows("SELECT count(*) FROM order_event WHERE cause_kind = 'overdue' AND at > %s", began)[0]["count"]
    for agent in agents:
        agent.resume()
    slow_sweeps.end(stage.postgres, servers.DATABASE)
    stage.unjudged += [f"{row['order_id']}.{row['step']}: {row['late']}" for row in left]
    stage.unjudged += [] if judged else [f"nothing of {service} was judged while its agents stalled for {LAGGING_S:g} s"]


@fault("database: disk full", rows=(71,), measure=SERVER, touches=("database",), needs=("disk",))
def disk_full(stage, _dice):
    ballast = stage.disk / "ballast"
    with open(ballast, "wb") as file:
        try:
            while True:
                file.write(b"\0" * (1 << 20))
                file.flush()
        except OSError:
            pass
    yield 10.0
    ballast.unlink()
    up_again(stage)


@fault("database: rows locked by somebody else", rows=(72,), measure=SERVER, touches=("database",))
def rows_locked(stage, _dice):
    side = stage.session()
    with side.cursor() as cursor:
        cursor.execute("SET lock_timeout = '5s'")
        cursor.execute("SELECT 1 FROM order_process ORDER BY created_at DESC LIMIT 200 FOR UPDATE")
    yield 6.0
    side.close()


@fault("database: a table locked by somebody else", rows=(72,), measure=SERVER, touches=("database",))
def table_locked(stage, _dice):
    side = stage.session()
    stage.is_blind = True
    with side.cursor() as cursor:
        cursor.execute("SET lock_timeout = '5s'")
        try:
            cursor.execute("LOCK TABLE order_process, order_step IN ACCESS EXCLUSIVE MODE")
        except psycopg2.Error:
            pass
    yield 6.0
    side.close()
    stage.is_blind = False


@fault("database: deadlocks", rows=(72,), measure=SERVER, touches=("database",))
def deadlocks(stage, _dice):
    """A side session takes rows of open orders in the opposite order, again and again."""
    side = stage.session()
    for _ in range(40):
        try:
            with side.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '300ms'")
                cursor.execute("SELECT order_id FROM order_process WHERE wake_at IS NOT NULL ORDER BY order_id DESC LIMIT 20")
                for (order_id,) in cursor.fetchall():
                    cursor.execute("SELECT 1 FROM order_process WHERE order_id = %s FOR UPDATE", (order_id,))
                    stage.keep()
        except psycopg2.Error:
            pass
        side.rollback()
    yield 0.1
    side.close()


@fault("database: an old transaction held open", rows=(73,), measure=SERVER, touches=("database",))
def long_transaction(stage, _dice):
    side = stage.session()
    side.set_session("REPEATABLE READ")
    with side.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM order_process")
    yield 30.0
    side.close()


def deadlines_judged(stage):
    """The judged deadlines of orders with remotes that neither fail nor dawdle."""
    rows = stage.rows("SELECT order_id, version, step FROM order_event JOIN orders USING (order_id)"
                      " WHERE cause_kind IN ('overdue', 'expired') AND revision = 1 AND payload NOT LIKE %s", "%behaviour%")
    return {(row["order_id"], row["version"], row["step"]) for row in rows}


def clock_set(stage, ahead_s):
    """Only the clock is wrong, so no deadline of a plain order may be judged because of it."""
    before = deadlines_judged(stage)
    stage.postgres.clock.set_ahead(ahead_s)
    yield CLOCK_SET_S
    stage.burnt += [f"{order_id}.{step}, clock set by {ahead_s} s" for order_id, _, step in deadlines_judged(stage) - before]
    stage.postgres.clock.set_ahead(0)


# These faults declare no `touches`, so they come alone: of two faults at once the other may well cost attempts.
@fault("database: its clock an hour ahead", rows=(76,), measure=SERVER, needs=("clock",))
def database_clock_ahead(stage, _dice):
    yield from clock_set(stage, 3600)
    stage.plan_schedules_anew()


@fault("database: its clock an hour back", rows=(76,), measure=SERVER, needs=("clock",))
def database_clock_back(stage, _dice):
    yield from clock_set(stage, -3600)


@fault("database: its clock half a minute back", rows=(76,), measure=SERVER, needs=("clock",))
def database_clock_back_a_little(stage, _dice):
    yield from clock_set(stage, -30)


def new_standby(stage):
    stage.postgres_count += 1
    standby = Postgres(stage.disk / f"postgres{stage.postgres_count}",
                       Clock(stage.clock_library, stage.scratch, f"database{stage.postgres_count}"))
    standby.follow(stage.postgres)
    return standby


def take_over(stage, standby):
    """Makes the standby the primary and leads every route to it."""
    old = stage.postgres
    standby.promote()
    stage.postgres = standby
    stage.database = None
    stage.proxy.target("pg", standby.port)
    stage.cluster.access.dsn = standby.dsn
    shutil.rmtree(old.folder)


@fault("database: failover to a synchronous standby", rows=(69,), measure=SERVER, touches=("database",))
def failover(stage, _dice):
    standby = new_standby(stage)
    stage.postgres.psql("ALTER SYSTEM SET synchronous_standby_names = '*'", "postgres")
    stage.postgres.psql("SELECT pg_reload_conf()", "postgres")
    processes.wait_until(lambda: stage.postgres.psql("SELECT sync_state FROM pg_stat_replication", "postgres") == [["sync"]],
                         "the standby is synchronous")
    stage.wait_s(1.0)
    stage.postgres.kill()
    yield 0.5
    take_over(stage, standby)
