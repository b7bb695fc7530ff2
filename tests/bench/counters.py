"""Counters of processes and servers, read before and after: the difference, divided by orders, is the cost."""

import os
import re
import time

from stage import processes

TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")


def cpu_s(pid):
    """Seconds of CPU of a process and of all its descendants, including ended ones."""
    total = 0.0
    for each in [pid] + processes.descendants(pid):
        try:
            with open(f"/proc/{each}/stat", encoding="ascii", errors="replace") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        total += (int(fields[11]) + int(fields[12])) * TICK_S
        if each == pid:
            total += (int(fields[13]) + int(fields[14])) * TICK_S
    return total


def memory_mb(pid):
    """Memory of this process alone plus its part of shared pages (PSS), in MB."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
            return next(int(line.split()[1]) for line in rollup if line.startswith("Pss:")) / 1024
    except (OSError, StopIteration):
        return 0.0


def rss_mb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
        return next((int(line.split()[1]) for line in status if line.startswith("VmRSS:")), 0) / 1024


def switches(pid):
    """(voluntary, involuntary) context switches of the main thread."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
        found = dict(line.split(":", 1) for line in status)
    return int(found["voluntary_ctxt_switches"]), int(found["nonvoluntary_ctxt_switches"])


class Cpu:
    """CPU by name of process, from the moment of making it."""

    def __init__(self, pids):
        self.pids = dict(pids)
        self.begin_s, self.began = self.read(), time.monotonic()

    def read(self):
        return {name: sum(cpu_s(pid) for pid in pids) for name, pids in self.pids.items()}

    def spent(self):
        """({name: seconds}, seconds of wall clock)."""
        now = self.read()
        return {name: now[name] - self.begin_s[name] for name in now}, time.monotonic() - self.began


TABLES = "SELECT relname, n_tup_ins, n_tup_upd, n_tup_hot_upd, n_tup_del FROM pg_stat_user_tables"
DATABASE = """SELECT xact_commit, xact_rollback, tup_inserted, tup_updated, tup_fetched, blks_hit, blks_read
    FROM pg_stat_database WHERE datname = current_database()"""
WAL = "SELECT wal_records, wal_fpi, wal_bytes, wal_write, wal_sync FROM pg_stat_wal"


class Postgres:
    """Rows, transactions and log written, in one database (the log: of the whole server)."""

    def __init__(self, postgres, database):
        self.postgres, self.database = postgres, database
        self.begin = self.read()

    def read(self):
        self.postgres.psql("SELECT pg_stat_force_next_flush()", self.database)
        values = {}
        for name, inserted, updated, hot, deleted in self.postgres.psql(TABLES, self.database):
            for word, value in (("inserted", inserted), ("updated", updated), ("hot", hot), ("deleted", deleted)):
                values[f"{name} {word}"] = int(value)
        words = ("commits", "rollbacks", "rows inserted", "rows updated", "rows fetched", "blocks hit", "blocks read")
        values.update(zip(words, map(int, self.postgres.psql(DATABASE, self.database)[0])))
        words = ("wal records", "wal full pages", "wal bytes", "wal writes", "wal syncs")
        values.update(zip(words, map(int, self.postgres.psql(WAL, self.database)[0])))
        return values

    def spent(self):
        now = self.read()
        return {name: now[name] - self.begin.get(name, 0) for name in now}


GLOBAL = """rabbit_global_counters:overview()."""


class Rabbit:
    """Messages by the broker's own global counters of its actions (AMQP 0-9-1)."""

    WORDS = ("messages_received_total", "messages_received_confirm_total", "messages_routed_total",
             "messages_confirmed_total", "messages_delivered_total", "messages_delivered_consume_manual_ack_total",
             "messages_delivered_consume_auto_ack_total", "messages_acknowledged_total", "messages_redelivered_total")

    def __init__(self, rabbit):
        self.rabbit = rabbit
        self.begin = self.read()

    def read(self):
        text = self.rabbit.ctl("eval", GLOBAL)
        return {word: sum(int(number) for number in re.findall(rf"\b{word} => (\d+)", text)) for word in self.WORDS}

    def spent(self):
        now = self.read()
        return {name: now[name] - self.begin[name] for name in now}


def metrics(process):
    """All series of a service's /metrics, by name with labels."""
    values = {}
    for line in process.get("/metrics")[1].splitlines():
        if line and not line.startswith("#"):
            series, _, value = line.rpartition(" ")
            values[series] = float(value)
    return values


def percentile(ordered, share):
    """Of an ordered list: the smallest value that `share` of all do not exceed (nearest rank)."""
    if not ordered:
        return 0.0
    return ordered[max(0, -(-int(share * len(ordered) * 1e6) // 1_000_000) - 1)]
