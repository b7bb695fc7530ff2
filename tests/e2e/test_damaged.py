"""One damaged order beside others: what the supervisor does for the others, and how the damage is told."""

from harness import scenario, step
from test_console import Console

ORDERS = 20
PASSED_AGAIN_S = 45.0  # an order that is passed by is tried after 10 s, then 20 s


@scenario()
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
    s.wait(lambda: s.alerts("order_passed_by"), "the alert is open")
    alert = s.alerts("order_passed_by")[0]
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
