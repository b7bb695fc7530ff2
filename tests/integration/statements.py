#!/usr/bin/python3
"""statements.py MAKEGOOD HEADER: each statement of common/io/store/sql runs in psql, and finds its rows by indexes.

psql runs each file as a person does, over a database of its own with many rows, in a transaction that is rolled back. Then the text that
the build made of the file (HEADER) is explained under the settings of the store's sessions. A sequential scan of a table with many rows
is a failure, except of one that the file's comment names: "Reads the whole table NAME". Would catch: a file that only the build can
read, and a statement with a condition that no index fits.
"""

import ast
import json
import os
import pathlib
import re
import subprocess
import sys
import uuid

import psycopg2
import psycopg2.extensions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "deploy"))
from local import servers  # noqa: E402

TOOL, HEADER = (pathlib.Path(word) for word in sys.argv[1:])
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "common/io/store/sql"
MANY = 1000
AS_IN_THE_STORE = "SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan; SET jit = off"  # common/io/store/store.c
FILL = """
INSERT INTO orders (order_id, revision, workflow, workflow_version, payload, digest, is_high, client)
    SELECT 'o-' || n, 1, 'w', 1, '{}', sha256(n::text::bytea), false, 'shop' FROM generate_series(1, 5000) n;
INSERT INTO order_process (order_id, process_state, goal, reason, version, seq, generation, failure_count, locked_by, wake_at,
        workflow, workflow_version, revision, is_high, wants_step_status)
    SELECT 'o-' || n, CASE WHEN n % 20 = 0 THEN 'processing' ELSE 'processed' END, 'processed', 'none', 4, 2, 0, 0, 'test',
        CASE WHEN n % 20 = 0 THEN now() + interval '1 day' END, 'w', 1, 1, false, false FROM generate_series(1, 5000) n;
INSERT INTO order_step (order_id, step, position, service, state, kind, reason, maybe, is_undo_dispatched, is_refused, is_accepted,
        attempt, failure_count, cool_down_count, generation)
    SELECT 'o-' || n, 's', 0, 'payment', 'done', 'do', 'none', false, false, false, false, 1, 0, 0, 0
    FROM generate_series(1, 5000) n;
INSERT INTO order_event (order_id, version, cause_kind, cause, by_whom, attempt, owed)
    SELECT 'o-' || n, v, 'reply', 'c', 'test', 1, n % 1000 = 0 FROM generate_series(1, 5000) n, generate_series(1, 4) v;
INSERT INTO order_label (order_id, name, value, created_at)
    SELECT 'o-' || n, 'n', n::text, now() FROM generate_series(1, 5000) n;
INSERT INTO operator_alert (code, subject, order_id, text, closed_at, workflow, step, service, error_code)
    SELECT 'order_error', 'o-' || n, 'o-' || n, 'y', CASE WHEN n > 100 THEN now() END, 'w', 's', 'payment', 'declined'
    FROM generate_series(1, 5000) n;
INSERT INTO bulk (bulk_id, verb, filter, reason, by_whom, canary, rate_per_s, stop_percent, state, orders, ended_at)
    VALUES ('b-1', 'resume', '{}', 'r', 'otto', 5, 5, 10, 'done', 5000, now());
INSERT INTO bulk_order (bulk_id, n, order_id, version, goal, result)
    SELECT 'b-1', n, 'o-' || n, 4, 'processed', 'done' FROM generate_series(1, 5000) n;
INSERT INTO reply_queue (name, since, tried_at, ask_at)
    SELECT 'q-' || n, now(), now(), now() + interval '1 day' FROM generate_series(1, 2000) n;
INSERT INTO workflow (name, version, definition) VALUES ('w', 1, '{"steps": [{"service": "payment"}]}');
"""


def built():
    """{statement: (its text, its parameters)}, as the store has them."""
    found, header = {}, HEADER.read_text(encoding="utf-8")
    for name, lines, places in re.findall(r'#define MG_SQL_(\w+) \\\n((?: {4}".*\n)+)enum \{ (.*) \};', header):
        text = "".join(ast.literal_eval(line) for line in re.findall(r'^ {4}(".*")(?: \\)?$', lines, re.M))
        found[name] = text, [place.removeprefix(f"MG_SQL_{name}_") for place in places.split(", ")][:-1]
    return found


def values_of(path):
    """The values that the file gives to its variables; those of an included one, too."""
    text = path.read_text(encoding="utf-8")
    values = dict(re.findall(r"^\\set (\w+) ('.*')$", text, re.M))
    for other in re.findall(r"^\\ir (\S+)$", text, re.M):
        values = {**values_of(FOLDER / other), **values}
    return values


def comment_of(path):
    text = path.read_text(encoding="utf-8")
    return " ".join(re.findall(r"^-- (.*)$", text.split("\\set")[0], re.M))


def scanned(plan):
    """The tables that a plan reads from end to end."""
    own = {plan["Relation Name"]} if plan["Node Type"] == "Seq Scan" else set()
    return own.union(*(scanned(part) for part in plan.get("Plans", ())))


def psql_fault(dsn, path):
    """psql's complaint of a file; "": it runs."""
    words = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", dsn, "-c", "BEGIN", "-f", path.name, "-c", "ROLLBACK"]
    done = subprocess.run(words, cwd=FOLDER, capture_output=True, text=True, check=False, timeout=60)
    return done.stderr.strip() if done.returncode or done.stderr else ""


def plan_of(cursor, text, values, before):
    cursor.execute("BEGIN")
    if before:
        cursor.execute(before)
    cursor.execute(f"PREPARE looked AS {text}")
    cursor.execute("EXPLAIN (FORMAT JSON) EXECUTE looked" + (f"({', '.join(values)})" if values else ""))
    plan = cursor.fetchone()[0][0]["Plan"]
    cursor.execute("ROLLBACK")
    cursor.execute("DEALLOCATE looked")
    return plan


def faults(dsn):
    session = psycopg2.connect(dsn)
    session.autocommit = True
    cursor = session.cursor()
    cursor.execute(FILL)
    cursor.execute("ANALYZE")
    cursor.execute("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND reltuples >= %s", (MANY,))
    large = {name for name, in cursor.fetchall()}
    cursor.execute(AS_IN_THE_STORE)
    texts = built()
    files = sorted(FOLDER.glob("*.sql"))
    assert {path.stem for path in files} == set(texts), {path.stem for path in files} ^ set(texts)
    assert len(large) >= 6 and files, large
    for path in files:
        (text, names), values, comment = texts[path.stem], values_of(path), comment_of(path)
        before = re.search(r"(\w+)\.sql is sent before it", comment)
        meant = set(re.findall(r"Reads the whole table (\w+)", comment))
        found = scanned(plan_of(cursor, text, [values[name] for name in names], before and texts[before.group(1)][0])) & large
        if found != meant:
            yield f"{path.name}: reads {sorted(found) or 'no table'} from end to end, and means {sorted(meant) or 'none'}"
        complaint = psql_fault(dsn, path)
        if complaint:
            yield f"{path.name}: psql: {complaint}"
    print(f"{len(files)} statements, {len(large)} tables with many rows")


def main():
    both, name = servers.attach(os.environ.get("MAKEGOOD_TEST_SERVERS", "")), "makegood_statements_" + uuid.uuid4().hex[:12]
    both.postgres.create_database(name)
    try:
        dsn = psycopg2.extensions.make_dsn(both.postgres.dsn, dbname=name)
        subprocess.run([TOOL, "db", "migrate", "--migrations", FOLDER.parents[3] / "deploy/postgres"], env={**os.environ, "MAKEGOOD_PG_DSN": dsn}, check=True, capture_output=True, timeout=120)
        found = list(faults(dsn))
    finally:
        both.postgres.psql(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)', "postgres")
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
