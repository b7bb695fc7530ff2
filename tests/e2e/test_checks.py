"""Each check of the tool × each of its statements that fails: a look that did not take place finds nothing well."""

import pathlib
import sys
import urllib.parse

import psycopg2
from psycopg2 import extensions

from harness import scenario

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "matrix"))
import wire  # noqa: E402

# A revoked right, a cancelled statement, a limit, a damaged page.
CODES = ("42501", "57014", "54000", "XX001")
VERBS = (("doctor",), ("broker", "check"), ("top",), ("top", "-o", "json"), ("db", "status"), ("service", "list"), ("alert", "list"),
         ("workflow", "list"), ("order", "list"), ("order", "list", "--group-by", "error"), ("bulk", "list"), ("db", "vacuum-policy"))


def fault_of(words, done, code):
    """"": the failed statement is told."""
    lines = [line for line in done.stdout.splitlines() if line.startswith("WRONG")] if words[0] == "doctor" else done.stderr.splitlines()
    named = any(f"({code})" in line for line in lines)
    return "" if done.returncode != 0 and named else f"{done.returncode}, {done.stdout[-600:]!r}, {done.stderr[-300:]!r}"


@scenario(schedulers=0, supervisors=0, agents=0, long="each statement of each check fails once")
def each_check_names_each_statement_that_fails(s):
    """Would catch: a check that vanishes with its statement, or finds well what it could not read; an error without its reason."""
    s.rows(wire.FAIL.replace('%', '%%') + "; SELECT 1")
    way = wire.Wire(s.servers.postgres.port)
    parts = urllib.parse.urlsplit(s.dsn)
    user = parts.netloc.rpartition("@")[0]
    env = {**s.cluster.tool_env, "MAKEGOOD_PG_DSN": parts._replace(netloc=f"{user}@127.0.0.1:{way.port}").geturl()}
    red, cells = [], 0
    for words in VERBS:
        way.seen.clear()
        s.cluster.tool(*words, check=False, env=env)
        statements = sorted(set(way.seen) - wire.SESSION)
        assert statements, words
        for statement in statements:
            for code in CODES:
                way.set({(statement, ""): code})
                fault = fault_of(words, s.cluster.tool(*words, check=False, env=env), code)
                assert way.fired, (words, statement)
                cells += 1
                if fault:
                    red.append(f"{' '.join(words)} x {statement} x {code}: {fault}")
        way.set({})
    print(f"{cells} cells, {len(red)} red")
    assert not red, "\n".join(red)
