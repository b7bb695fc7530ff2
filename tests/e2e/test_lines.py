"""Orders that run one at a time for each key."""

import collections
import json
import threading

from harness import PAIRS, Client, scenario, step
from test_console import Console


LINE = {"key": "customer/${/payload/customer}"}


def line(s, name="line", **sequence):
    s.load_workflow(name, [step("reserve", "inventory"), step("charge", "payment", after=["reserve"])],
                    sequence={**LINE, **sequence}, on_failure="error")


def explain(s, order):
    return s.cluster.tool("order", "explain", order.order_id).stdout


def listed(s, key):
    shown = json.loads(s.cluster.tool("order", "list", "--line", key, "-o", "json").stdout)
    return [row["order_id"] for row in shown]


def spans(s):
    """Of each order that ran, in the order of their turns: its key, and the database's moments of its turn and its end."""
    return s.rows("""
        SELECT o.order_id, (o.payload::json)->>'customer' AS key, t.at AS turn,
            (SELECT max(x.at) FROM order_event x WHERE x.order_id = o.order_id) AS ended
        FROM orders o
        JOIN order_event t ON t.order_id = o.order_id AND t.cause_kind = 'turn'
        WHERE o.revision = 1
        ORDER BY t.at""")


@scenario(long="a thousand orders run one after the other", **PAIRS)
def orders_of_a_key_run_one_at_a_time_although_schedulers_are_killed(s):
    """Would catch: two of a key at once, one that overtakes another, a turn that is lost with a scheduler."""
    line(s)
    posted, clients = collections.defaultdict(list), [Client(s.url) for _ in range(4)]

    def post(client, of):
        """Waits for each order's `accepted` before it posts the next, so that their order is promised."""
        for n in range(100):
            order = client.submit("line", {"customer": n % 10, "amount": 1})
            client.wait_status(order, "accepted", 120)
            posted[of, n % 10].append(order.order_id)

    threads = [threading.Thread(target=post, args=(client, of)) for of, client in enumerate(clients)]
    for thread in threads:
        thread.start()
    for n in range(4):
        s.wait(lambda n=n: len(s.rows("SELECT FROM order_process WHERE process_state = 'processed'")) > 40 * (n + 1), "orders end", 120)
        victim = s.cluster.schedulers[n % 2]
        victim.kill()
        victim.start()
        s.ends_badly.add(victim.name)
    for thread in threads:
        thread.join()
    s.wait(lambda: len(s.rows("SELECT FROM order_process WHERE process_state = 'processed'")) == 400, "all are processed", 240)
    seen = spans(s)
    assert len(seen) == 400, len(seen)
    for key in range(10):
        of_key = [row for row in seen if row["key"] == str(key)]
        for before, after in zip(of_key, of_key[1:]):
            assert before["ended"] <= after["turn"], f"two of {key} at once: {before} {after}"
        for of in range(len(clients)):
            ran = [row["order_id"] for row in of_key if row["order_id"] in posted[of, key]]
            assert ran == posted[of, key], f"one of {key} overtook: {ran} were accepted as {posted[of, key]}"
    assert not s.rows("SELECT FROM sequence_key") and not s.rows("SELECT FROM sequence_place")
    for client in clients:
        client.close()


@scenario(long="alerts, pauses and time-outs pass in real time")
def an_order_in_error_holds_its_line_until_it_is_released(s):
    """Would catch: a line that goes past an order in error, one that stands for ever, and orders of other keys that wait."""
    line(s)
    head = s.client.submit("line", {"customer": "a", "behaviour": "decline"})
    s.wait_state(head, "error")
    second, third = (s.client.submit("line", {"customer": "a"}) for _ in range(2))
    s.client.wait_status(s.client.submit("line", {"customer": "b"}), "processed")
    s.client.wait_status(third, "accepted")
    assert s.process(second)["reason"] == "in_line" and s.process(second)["wake_at"] is None, s.process(second)
    told = explain(s, third)
    assert "in line for customer/a after 2 others" in told and f"the head is {head.order_id}, in error" in told, told
    told = explain(s, head)
    assert "2 others wait in line for customer/a" in told, told
    assert listed(s, "customer/a") == [head.order_id, second.order_id, third.order_id]
    lines = {row["order_id"]: row["line"] for row in json.loads(s.cluster.tool("order", "list", "-o", "json").stdout)}
    assert lines[second.order_id] == "customer/a" and sorted(map(str, lines.values())) == ["None"] + ["customer/a"] * 3, lines
    refused = s.cluster.tool("order", "release", second.order_id, "--reason", "why", check=False)
    assert refused.returncode != 0 and "only an order in error" in refused.stderr, refused
    s.rows("UPDATE sequence_key SET since = now() - interval '11 minutes' RETURNING 1")
    s.wait(lambda: s.alerts("line_held"), "the alert is there", 40)
    console = Console(s)
    console.login("operator")
    shown, waiting = (console.get(f"orders/{order.order_id}") for order in (head, second))
    assert shown["verbs"]["release"] and shown["line"] == waiting["line"] == "customer/a" and not waiting["verbs"]["release"], (shown, waiting)
    assert {row["line"] for row in console.get("orders")["orders"]} == {None, "customer/a"}
    console.post(f"orders/{head.order_id}/release", {"reason": "it will take days", "version": shown["dossier"]["order"]["version"]})
    s.client.wait_status(second, "processed")
    s.client.wait_status(third, "processed")
    assert s.state(head) == "error"
    s.wait(lambda: all(row["closed_at"] is not None for row in s.alerts("line_held")), "the alert is closed", 60)
    s.cluster.tool("order", "compensate", head.order_id, "--reason", "the end")
    s.client.wait_status(head, "compensated")
    assert not s.rows("SELECT FROM sequence_key"), s.rows("SELECT * FROM sequence_key")


@scenario()
def a_cancelled_order_leaves_its_line_and_a_restarted_one_goes_to_its_end(s):
    """Would catch: a turn that is given to an order that has ended, and a restart that overtakes."""
    line(s)
    s.pause_service("inventory")
    head, second, third, fourth = (s.client.submit("line", {"customer": "a"}) for _ in range(4))
    s.client.wait_status(fourth, "accepted")
    s.cluster.tool("order", "cancel", second.order_id, "--reason", "not wanted")
    s.client.wait_status(second, "cancelled")
    assert listed(s, "customer/a") == [head.order_id, third.order_id, fourth.order_id]
    s.cluster.tool("order", "restart", second.order_id, "--reason", "wanted after all")
    assert listed(s, "customer/a") == [head.order_id, third.order_id, fourth.order_id, second.order_id]
    s.cluster.tool("service", "resume", "inventory", "--reason", "seen")
    for order in (head, third, fourth):
        s.client.wait_status(order, "processed")
    s.wait_state(second, "processed")
    turns = [row["order_id"] for row in spans(s)]
    assert turns == [order.order_id for order in (head, third, fourth, second)], turns


@scenario()
def a_full_line_rejects_and_on_error_releases(s):
    """Would catch: a line without a bound, and an order in error that holds a line which its definition releases."""
    line(s, "few", at_most=2, on_error="release")
    s.pause_service("inventory")
    head, second = (s.client.submit("few", {"customer": "a", "behaviour": "decline"}) for _ in range(2))
    s.client.wait_status(second, "accepted")
    third = s.client.submit("few", {"customer": "a"})
    status = s.client.wait_status(third, "rejected")
    assert status["cause"]["code"] == "line_full" and "has 2 orders" in status["reason"], status
    missing = s.client.wait_status(s.client.submit("few", {}), "rejected")
    assert missing["cause"]["code"] == "invalid" and "/sequence/key" in missing["reason"], missing
    s.cluster.tool("service", "resume", "inventory", "--reason", "seen")
    for order in (head, second):
        s.wait_state(order, "error")
    assert not s.rows("SELECT FROM sequence_key")
    for order in (head, second):
        s.cluster.tool("order", "compensate", order.order_id, "--reason", "the end")
        s.client.wait_status(order, "compensated")


@scenario(long="alerts, pauses and time-outs pass in real time")
def a_turn_that_was_lost_is_made_good_by_the_supervisor(s):
    """Would catch: a line that stands for ever after the loss of one message."""
    line(s)
    s.pause_service("inventory")
    head, second = (s.client.submit("line", {"customer": "a"}) for _ in range(2))
    s.client.wait_status(second, "accepted")
    s.wait(lambda: s.rows("SELECT FROM sequence_key WHERE is_called"), "the head has its turn")
    # As if the head had ended, and the message to the next had been lost.
    s.rows("DELETE FROM sequence_place WHERE order_id = %s RETURNING 1", head.order_id)
    s.rows("UPDATE sequence_key SET order_id = %s, generation = 0, length = 1, is_called = false, since = clock_timestamp() RETURNING 1", second.order_id)
    s.wait(lambda: s.process(second)["reason"] == "none", "the next has its turn", 30)
    s.cluster.tool("service", "resume", "inventory", "--reason", "seen")
    for order in (head, second):
        s.client.wait_status(order, "processed")
    assert not s.rows("SELECT FROM sequence_key")
