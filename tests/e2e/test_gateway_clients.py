"""Clients of one gateway: what each learns of the others, and what each leaves to the others."""

import json
import threading
import time
import urllib.parse

from harness import scenario
from test_gateway import SOON_S, load, order_of, start

SECRET = "secret"  # begins the ids of the client that the other one must not notice
FOREIGN = 12000    # more than any page reads

# Orders of the shop, newer than all others, with labels; some of them need an operator.
FILL = """
WITH n AS (SELECT n FROM generate_series(1, %s) n),
p AS (INSERT INTO order_process (order_id, process_state, goal, reason, version, seq, generation, failure_count, locked_by, workflow,
        workflow_version, revision, is_high, wants_step_status, created_at)
      SELECT %s || '-' || n, (ARRAY['processed', 'compensated', 'error'])[1 + n %% 3], 'processed',
        CASE n %% 3 WHEN 0 THEN 'none' ELSE 'step_failed' END, 4, 2, 0, 0, 'test', 'priced', 1, 1, false, false,
        now() + n * interval '1 millisecond' FROM n RETURNING order_id, created_at),
o AS (INSERT INTO orders (order_id, revision, workflow, workflow_version, payload, digest, is_high, client, received_at)
      SELECT order_id, 1, 'priced', 1, '{}', sha256(order_id::bytea), false, %s, created_at FROM p RETURNING order_id)
SELECT count(*) FROM o"""
LABEL = """
WITH l AS (INSERT INTO order_label (order_id, name, value, created_at)
           SELECT order_id, 'customer', %s, created_at FROM order_process WHERE starts_with(order_id, %s) RETURNING 1)
SELECT count(*) FROM l"""


def fill(s, client, prefix, number, label):
    s.rows(FILL, number, prefix, client)
    s.rows(LABEL, label, prefix)


def pages(door, query, client):
    """The bytes of each page of a list."""
    cursor, found = "", []
    while cursor is not None and len(found) < 50:
        path = f"/v1/orders?{query}" + (f"&cursor={urllib.parse.quote(cursor)}" if cursor else "")
        seen, _, data = door.ask("GET", path, client=client)
        assert seen == 200, data
        found.append(data)
        cursor = json.loads(data)["next"]
    return found


@scenario(long="each answer, right or argument in turn")
def no_answer_to_a_client_holds_an_id_of_another(s):
    """Would catch: a cursor, a page or an error with another client's order; an order or a label of another that shows in
    status, words or time; an own order that a list leaves out."""
    load(s)
    door = start(s)
    own = [door.post(order_of(customer="vip")[1], client="other")["order_id"] for _ in range(3)]
    for order_id in own:
        door.get(order_id, client="other")
    fill(s, "shop", SECRET, FOREIGN, "vip")
    named = f"{SECRET}-5"
    assert door.get(named, wait=None)["order_id"] == named
    answers = []
    for query in ("", "state=processed", "state=error", "state=pending", "label=customer=vip", "label=customer=vip&state=compensated",
                  "label=customer=nobody"):
        answers += pages(door, query, "other")
    moments = s.rows(f"SELECT (extract(epoch FROM created_at) * 1000000)::bigint AS at FROM order_process WHERE order_id LIKE '{SECRET}%%'"
                     " ORDER BY created_at LIMIT 12")
    for moment in moments:
        for query in ("", "label=customer=vip&", "state=error&"):
            answers.append(door.ask("GET", f"/v1/orders?{query}cursor={moment['at']}/zzzz", client="other")[2])
    leaked = [answer for answer in answers if SECRET.encode() in answer]
    assert not leaked, leaked[:3]
    for query in ("", "label=customer=vip"):
        found = [order["order_id"] for page in pages(door, query, "other") for order in json.loads(page)["orders"]]
        assert sorted(found) == sorted(own), (query, found)
    assert len(pages(door, "label=customer=vip&state=compensated", "other")) == 1, "a page for the orders of others"
    listed = [order["order_id"] for page in pages(door, "label=customer=vip&state=error", "shop") for order in json.loads(page)["orders"]]
    assert len(listed) == len(set(listed)) and 2000 <= len(listed) <= FOREIGN / 3, len(listed)

    def twice(method, path, body=None):
        """The same request about a foreign order and about none: answers and times."""
        asked = []
        for order_id in (named, "none-such-5"):
            began = time.monotonic()
            seen, headers, data = door.ask(method, path.format(order_id), body and body.replace("ORDER", order_id), client="other")
            asked.append((seen, sorted(headers), data.decode().replace(order_id, "ORDER"), time.monotonic() - began))
        (*foreign, foreign_s), (*none, none_s) = asked
        assert [part for part in foreign if part is not foreign[1]] == [part for part in none if part is not none[1]], (path, asked)
        assert foreign[1] == none[1] and abs(foreign_s - none_s) < 0.9, (path, asked)
        return foreign[0]
    assert twice("GET", "/v1/orders/{}") == 404
    assert twice("GET", "/v1/orders/{}?wait=2s") == 404
    assert twice("GET", "/v1/orders/{}/events") == 404
    assert twice("POST", "/v1/orders/{}/cancel") == 404
    assert twice("POST", "/v1/orders", '{"order_id": "ORDER", "workflow": "no-such"}') == 422
    assert twice("POST", "/v1/orders", '{"order_id": "ORDER", "workflow": "priced", "payload": {}}') == 422
    assert twice("POST", "/v1/orders:batch", '{"order_id": "ORDER", "workflow": "no-such"}') == 200
    door.post(order_of(order_id=named)[1], 409, client="other")  # two clients share one namespace


@scenario()
def a_post_that_repeats_an_order_is_answered_with_its_state(s):
    """Would catch: a client that takes an old order for a new one, in a single post or in a batch."""
    load(s)
    door = start(s)
    scheduler = s.cluster.schedulers[0]
    scheduler.pause()
    try:
        order_id, body = order_of()
        for state in (None, "posted"):
            seen, headers, data = door.ask("POST", "/v1/orders", body)
            assert seen == 202 and json.loads(data) == {"order_id": order_id} | ({"state": state} if state else {}), data
            assert headers["Idempotent-Replayed"] == ("true" if state else None) and headers["Location"] == f"/v1/orders/{order_id}"
    finally:
        scheduler.resume()
    assert door.get(order_id)["state"] == "processed"
    seen, headers, data = door.ask("POST", "/v1/orders", body)
    assert (seen, headers["Idempotent-Replayed"], json.loads(data)) == (202, "true", {"order_id": order_id, "state": "processed"}), data
    other, fresh = order_of()
    lines = door.ask("POST", "/v1/orders:batch", body + b"\n" + fresh)[2].splitlines()
    assert [json.loads(line) for line in lines] == [{"status": 202, "order_id": order_id, "state": "processed"},
                                                    {"status": 202, "order_id": other}], lines


@scenario()
def lists_of_one_client_hold_up_no_other_client(s):
    """Would catch: posts that stand in line behind lists; a client that fills the line of the others' lists, or lists at the
    rate at which it may read."""
    load(s)
    door = start(s, "--client-rate", "200")
    fill(s, "other", "mine", FOREIGN, "vip")
    is_over, codes, slowest = threading.Event(), [], 0.0

    def flood():
        while not is_over.is_set():
            codes.append(door.ask("GET", "/v1/orders?label=customer=vip&state=cancelled", client="other")[0])

    def timed(method, path, body=None):
        began = time.monotonic()
        assert door.ask(method, path, body)[0] in (200, 202)
        return time.monotonic() - began
    floods = [threading.Thread(target=flood) for _ in range(20)]
    for one in floods:
        one.start()
    try:
        s.wait(lambda: codes.count(429) > 20 and codes.count(200) > 5, "the flood is bounded")
        for _ in range(20):
            slowest = max(slowest, timed("POST", "/v1/orders", order_of()[1]), timed("GET", "/v1/orders"))
        assert (door.process.metric("makegood_gateway_lists") or 0) <= 9, "eight of one client, and one of the other"
    finally:
        is_over.set()
        for one in floods:
            one.join(SOON_S)
    assert slowest < 2.0, slowest
    assert not set(codes) - {200, 429}, set(codes)
    sessions = s.rows("SELECT application_name FROM pg_stat_activity WHERE datname = current_database()"
                      " AND application_name LIKE 'makegood gateway%%'")
    assert {row["application_name"].split(",")[-1].split(":")[0].strip() for row in sessions} >= {"makegood gateway", "lists"}, sessions
