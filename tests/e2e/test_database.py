"""Databases that are not what the services need: each is refused, or named, by what it is."""

import json
import pathlib

import psycopg2

from harness import MIGRATIONS, scenario


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


@scenario()
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
