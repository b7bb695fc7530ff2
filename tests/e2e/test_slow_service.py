"""A service that is slow or fails shows it: how slow, since when, what it said, and how many orders wait for it."""

import json

from harness import scenario, step

SLOW_MS = 1200


def row_of(s):
    return next(row for row in json.loads(s.cluster.tool("service", "list", "-o", "json").stdout) if row["service"] == "payment")


@scenario(services=("payment",), long="agents report, and the leader counts, each five seconds")
def a_slow_service_and_a_dead_one_show_how_slow_and_since_when(s):
    """Would catch: an outage without a beginning, an answer or a number of orders that wait; a slow service that looks as any other."""
    s.load_workflow("pay", [step("charge", "payment", complete_within="60s", retry={"attempts": 5, "backoff": "100ms"})])
    slow = [s.client.submit("pay", {"n": n, "behaviour": f"slow:{SLOW_MS}"}) for n in range(8)]
    for order in slow:
        s.client.wait_status(order, "processed")
    row = s.wait(lambda: (row := row_of(s))["p95_ms"] is not None and row, "its calls are counted")
    assert row["p95_ms"] >= 1000 and row["p50_ms"] >= 1000 and row["failed_percent"] == 0 and row["calls_per_s"] > 0, row
    assert row["state"] == "serving" and row["since"] is None and row["error_code"] is None, row

    s.remote("payment").switch("unavailable")
    waiting = [s.client.submit("pay", {"n": n}) for n in range(40)]
    row = s.wait(lambda: (row := row_of(s))["state"] == "breaker open" and row["since"] and row["waiting"] > 0 and row, "it fails since then")
    assert row["error_code"].startswith("http_503") and row["error_text"] and row["error_at"] >= row["since"], row
    row = s.wait(lambda: (row := row_of(s))["failed_percent"] and row, "the failed calls are counted")
    text = s.cluster.tool("doctor", check=False).stdout
    assert f"payment answers no call since {row['since']}; last: http_503" in text and "steps wait" in text, text
    text = s.cluster.tool("service", "show", "payment").stdout
    assert "last error  http_503" in text and "p95" in text and "█" in text, text
    shown = json.loads(s.cluster.tool("service", "show", "payment", "-o", "json").stdout)
    assert sum(shown["minutes"]["calls"]) >= len(slow) and sum(shown["minutes"]["failed"]) > 0, shown
    assert max(p95 or 0 for p95 in shown["minutes"]["p95_ms"]) >= 1000, shown
    assert s.cluster.tool("service", "show", "nobody", check=False).returncode != 0

    s.remote("payment").switch("order")
    for order in waiting:
        s.client.wait_status(order, "processed", timeout_s=60)
    s.wait(lambda: row_of(s)["since"] is None and row_of(s)["waiting"] == 0, "it is well again")
    minutes = s.rows("SELECT sum(counts[1])::bigint AS accepted, sum(counts[2])::bigint AS ended FROM minute_count WHERE subject = ''")[0]
    assert 0 < min(minutes.values()) and max(minutes.values()) <= len(slow) + len(waiting), minutes
