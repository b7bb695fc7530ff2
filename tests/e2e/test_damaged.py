"""One damaged order beside others: what the supervisor does for the others, and how the damage is told."""

from harness import scenario, step
from test_console import Console
from test_isolation import go_on, in_the_middle

ORDERS = 20
PASSED_AGAIN_S = 45.0  # an order that is passed by is tried after 10 s, then 20 s


@scenario(long="alerts, pauses and time-outs pass in real time")
def a_damaged_order_costs_itself_and_is_named(s):
    """Would catch: a sweep that fails for all orders because one has a moment that no number stands for."""
    s.load_workflow("short", [step("reserve", "inventory", complete_within="2s", retry={"attempts": 9, "backoff": "50ms"})])
    for agent in s.cluster.agents_of("inventory"):
        agent.pause()
    damaged = s.client.submit("short")
    s.wait_step(damaged, "reserve", "running")
    s.rows("UPDATE order_step SET complete_by = '-infinity' WHERE order_id = %s RETURNING 1", damaged.order_id)
    others = [s.client.submit("short") for _ in range(ORDERS)]
    for order in others:
        s.wait(lambda order=order: s.step(order, "reserve") and s.step(order, "reserve")["attempt"] >= 2, "its second attempt")
    alert = s.wait(lambda: s.alerts("order_passed_by"), "the alert is open")[0]
    assert f"order {damaged.order_id} cannot be swept" in alert["text"] and "(0A000)" in alert["text"], alert
    console = Console(s)
    console.login("reader")
    listed = [row["order_id"] for row in console.get("orders")["orders"]]
    assert damaged.order_id in listed and len(listed) == ORDERS + 1, listed
    console.get("overview")
    payload = s.rows("SELECT payload FROM orders WHERE order_id = %s", damaged.order_id)[0]["payload"]
    s.rows("UPDATE orders SET payload = '{broken' WHERE order_id = %s RETURNING 1", damaged.order_id)
    assert "(22P02)" in str(console.get(f"orders/{damaged.order_id}"))
    assert "(22P02)" in s.cluster.tool("order", "export", damaged.order_id).stdout
    s.rows("UPDATE orders SET payload = %s WHERE order_id = %s RETURNING 1", payload, damaged.order_id)
    s.rows("UPDATE order_step SET complete_by = now() WHERE order_id = %s RETURNING 1", damaged.order_id)
    s.wait(lambda: s.step(damaged, "reserve")["attempt"] >= 2, "the mended order goes on", PASSED_AGAIN_S)
    s.wait(lambda: s.alerts("order_passed_by")[0]["closed_at"], "the alert is closed", PASSED_AGAIN_S)
    for agent in s.cluster.agents_of("inventory"):
        agent.resume()
    for order in [damaged, *others]:
        s.wait_state(order, "processed")


# Damage of an order with a charge on its way, and the reason in its alert.
DAMAGES = (
    ("DELETE FROM orders WHERE order_id = %s", "no row with its payload and revision"),
    ("UPDATE orders SET revision = 7 WHERE order_id = %s", "no row with its payload and revision"),
    ("UPDATE order_process SET revision = 9223372036854775807 WHERE order_id = %s", "no row with its payload and revision"),
    ("UPDATE orders SET payload = '{broken' WHERE order_id = %s", "its payload is no JSON"),
    ("DELETE FROM order_step WHERE step = 'reserve' AND order_id = %s", 'step "reserve" has changed, and its row is lost'),
    ("UPDATE order_step SET position = 2 WHERE step = 'reserve' AND order_id = %s", 'is of "reserve"'),
    ("UPDATE order_step SET service = '{broken' WHERE step = 'charge' AND order_id = %s", 'is of service "{broken"'),
    ("UPDATE order_step SET result = '{broken' WHERE step = 'reserve' AND order_id = %s", 'the result of step "reserve" is no JSON'),
    ("UPDATE order_process SET workflow_version = 77 WHERE order_id = %s", "the database has no version 77 of workflow three"),
    ("UPDATE order_process SET workflow = 'gone' WHERE order_id = %s", "of workflow gone"),
)
SET_ASIDE_S = 45.0  # a lasting fault is tried for 5 s, one order after the other


@scenario(long="each answer, right or argument in turn")
def a_row_that_is_lost_or_damaged_turns_no_order_back(s):
    """Would catch: a lost payload that is taken for none, so that the order fails and its charge is undone without an alert."""
    *damaged, mended, healthy = in_the_middle(s, len(DAMAGES) + 2)
    for order, (sql, _) in zip(damaged, DAMAGES):
        s.rows(sql + " RETURNING 1", order.order_id)
    s.rows("UPDATE orders SET revision = 7 WHERE order_id = %s RETURNING 1", mended.order_id)
    s.cluster.schedulers[0].terminate()  # another has nothing of them in its cache
    s.cluster.schedulers[0].start()
    go_on(s)
    s.wait_state(healthy, "processed")

    def told():
        return {alert["subject"]: alert["text"] for alert in s.alerts("set_aside")}

    def all_told():
        s.client.pump(0.1)
        assert s.state(mended) == "processing" and s.client.submit("three")  # others go on
        return len(told()) == len(DAMAGES) + 1
    s.wait(all_told, "each is set aside", SET_ASIDE_S)
    texts = told()
    for order, (sql, reason) in zip(damaged, DAMAGES):
        assert reason in texts[order.order_id], (sql, texts[order.order_id])
        assert s.state(order) == "processing", sql
        undone = s.rows("SELECT count(*) AS count FROM order_step WHERE order_id = %s AND kind = 'undo'", order.order_id)
        assert undone[0]["count"] == 0, sql
        explained = s.cluster.tool("order", "explain", order.order_id).stdout
        assert "is set aside since" in explained and reason in explained, explained
    doctor = s.cluster.tool("doctor", check=False)
    assert doctor.returncode == 1 and "WRONG alerts" in doctor.stdout, doctor

    s.rows("UPDATE orders SET revision = 1 WHERE order_id = %s RETURNING 1", mended.order_id)
    s.cluster.tool("order", "readmit", mended.order_id, "--reason", "restored", "--by", "ann")
    s.cluster.tool("dead", "requeue", "--all", "--reason", "restored")
    s.wait_state(mended, "processed")
    s.expects_open_orders = True
