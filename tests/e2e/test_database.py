"""Databases that are not what the services need: each is refused, or named, by what it is."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import threading

import psycopg2

from harness import MIGRATIONS, scenario
from local import servers

LOCALE = "mg_XX.UTF-8"
IDS = [f"{word}{mark}{number}" for number in range(100) for word in ("a", "A", "b", "B") for mark in ("-", "_", ".", "~")]


class Database:
    """A database of its own beside that of the scenario."""

    def __init__(self, s, encoding="UTF8", options="LOCALE 'C'"):
        self.s, self.name = s, s.dsn.rpartition("/")[2] + "_own"
        s.servers.postgres.psql(f"CREATE DATABASE \"{self.name}\" TEMPLATE template0 ENCODING '{encoding}' {options}", "postgres")
        self.dsn = psycopg2.extensions.make_dsn(s.dsn, dbname=self.name)

    def make(self, kind):
        """A process that uses it; not started."""
        process = self.s.cluster.make(kind, f"{kind}-own")
        process.env["MAKEGOOD_PG_DSN"] = self.dsn
        return process

    def migrate(self):
        return self.s.cluster.tool("db", "migrate", "--migrations", MIGRATIONS, env={"MAKEGOOD_PG_DSN": self.dsn})


@scenario(long="others of its kind are quick")
def services_refuse_a_database_that_cannot_hold_every_text(s):
    """Would catch: orders whose texts can be stored, or not, and never be read again."""
    database = Database(s, "SQL_ASCII")
    for kind in ("scheduler", "supervisor"):
        refused = database.make(kind).start()
        s.wait(lambda refused=refused: not refused.is_running(), f"the {kind} exits")
        assert refused.popen.returncode == 1 and "has the encoding SQL_ASCII, and orders need UTF8" in refused.tail(50), refused.tail(50)


@scenario()
def each_line_of_a_log_is_json_whatever_the_server_warns_of(s):
    """Would catch: libpq's own lines in a log, at each session of a database whose collation has changed."""
    database = Database(s, options="LOCALE 'C.UTF-8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US'")
    database.migrate()
    s.servers.postgres.psql(f"UPDATE pg_database SET datcollversion = '1.1' WHERE datname = '{database.name}'", "postgres")
    for kind in ("scheduler", "supervisor"):
        process = database.make(kind).start()
        s.wait(lambda process=process: process.get("/readyz")[0] == 200, f"the {kind} is ready")
        assert process.terminate() == 0, process.tail(50)
        lines = [json.loads(line) for line in pathlib.Path(process.log_path).read_text(encoding="utf-8").splitlines()]
        warnings = [line for line in lines if line["message"] == "the database warns at the beginning of a session"]
        assert warnings and all("collation version mismatch" in line["notice"] for line in warnings), lines


@scenario(long="alerts, pauses and time-outs pass in real time")
def a_migration_behind_a_reader_stops_no_order_and_names_the_reader(s):
    """Would catch: schedulers that stand behind a migration, which stands behind somebody's open transaction."""
    s.client.wait_status(s.client.submit(), "processed")
    folder = s.scratch / "migrations"
    shutil.copytree(MIGRATIONS, folder)
    (folder / "9999_probe.sql").write_text("-- serves programs from schema 1\nALTER TABLE order_step ADD COLUMN probe integer;\n",
                                           encoding="utf-8")
    deployer = s.cluster.env_of("deployer", "owner")

    def migrate(lock_wait):
        return s.cluster.tool("db", "migrate", "--migrations", folder, "--lock-wait", lock_wait, env=deployer, check=False)

    reader = psycopg2.connect(s.dsn, application_name="report")
    reader.cursor().execute("SELECT count(*) FROM order_step")
    ends = []
    migration = threading.Thread(target=lambda: ends.append(migrate("9s")))
    migration.start()
    ended = 0
    while migration.is_alive():
        s.client.wait_status(s.client.submit(), "processed")  # one try holds an order up for a second
        ended += migration.is_alive()
    migration.join()
    assert ended >= 5 and ends[0].returncode == 6, (ended, ends)
    holder = f"9999_probe.sql waits for session {reader.info.backend_pid} of user makegood, \"report\", in a transaction since "
    assert holder in ends[0].stdout and "a lock was not free within 9 s" in ends[0].stderr, ends
    migration = threading.Thread(target=lambda: ends.append(migrate("1m")))
    migration.start()
    s.client.wait_status(s.client.submit(), "processed")
    reader.close()
    migration.join()
    assert ends[1].returncode == 0, ends[1]
    s.client.wait_status(s.client.submit(), "processed")


def define_locale(folder, source):
    # Warnings about odd characters end it with 1, and the locale is written.
    subprocess.run(["localedef", "-c", "-i", source, "-f", "UTF-8", folder / LOCALE], check=False, capture_output=True)
    assert (folder / LOCALE / "LC_COLLATE").exists(), "localedef has written nothing"


@contextlib.contextmanager
def with_locales(folder):
    """For what is started meanwhile."""
    os.environ["LOCPATH"] = str(folder)
    try:
        yield
    finally:
        del os.environ["LOCPATH"]


@scenario(schedulers=0, agents=0, supervisors=0, long="each answer, right or argument in turn")
def no_id_is_lost_when_the_system_sorts_text_by_other_rules(s):
    """A server with a C library of its own, so to say. Would catch: ids that are in a table, are not found in its index, and are
    stored twice."""
    locales = s.scratch / "locales"
    locales.mkdir()
    for folder in (s.scratch, locales):
        folder.chmod(0o755)
    define_locale(locales, "en_US")
    server = servers.Postgres(s.scratch / "own")
    with with_locales(locales):
        server.create()
    try:
        with with_locales(locales):
            server.restart()
        server.psql(f"CREATE DATABASE own TEMPLATE template0 ENCODING 'UTF8' LOCALE '{LOCALE}'", "postgres")
        env = {"MAKEGOOD_PG_DSN": server.dsn_of("own")}
        s.cluster.tool("db", "migrate", "--migrations", MIGRATIONS, env=env)
        values = ", ".join(f"('{order_id}')" for order_id in IDS)
        store = (f"INSERT INTO orders SELECT id, 1, 'w', 1, '{{}}', sha256(''), false FROM (VALUES {values}) v (id)"
                 " ON CONFLICT DO NOTHING RETURNING order_id")
        find = (f"SET enable_seqscan = off; SELECT count(o.order_id) FROM (VALUES {values}) v (id),"
                " LATERAL (SELECT order_id FROM orders WHERE order_id = v.id OFFSET 0) o")
        order = "SELECT string_agg(id, ' ' ORDER BY id) FROM (VALUES ('a-1'), ('A_1'), ('a_2'), ('B.1'), ('b-1')) v (id)"
        assert len(server.psql(store, "own")) == len(IDS)
        before = server.psql(order, "own")
        server.process.terminate()
        define_locale(locales, "C")
        with with_locales(locales):
            server.restart()
        assert server.psql(order, "own") != before, "the rules are the same: this test shows nothing"
        assert server.psql(find, "own") == [[str(len(IDS))]]
        assert server.psql(store, "own") == []
    finally:
        server.kill()
