"""Labels: an operator finds orders by them at once, in lists, bulk actions and the search; a refused submission is found, too."""

import json

from harness import scenario, step

ONE = {"services": ("payment",)}
LABELS = {"customer": "${/payload/customer}", "country": "${/payload/country}", "total": "${/payload/total}"}


def ids(s, *words, check=True):
    done = s.cluster.tool("order", *words, "-o", "json", check=check)
    return sorted(row["order_id"] for row in json.loads(done.stdout or "[]"))


@scenario(**ONE, long="others of its kind are quick")
def orders_are_found_by_their_labels_as_soon_as_they_are_accepted(s):
    s.load_workflow("shop", [step("charge", "payment")], on_failure="error", labels=LABELS)
    s.load_workflow("plain", [step("charge", "payment")])
    for n in range(20):
        order = s.client.submit("shop", {"customer": n % 2, "country": "CH", "total": 14.5, "n": n}, order_id=f"shop-{n:02}")
        s.wait(lambda order=order: s.client.statuses(order.order_id), f"{order.order_id} is accepted")
        assert order.order_id in ids(s, "list", "--label", f"customer={n % 2}"), order.order_id
    plain = s.client.submit("plain", {"customer": 1}, order_id="plain-1")
    s.wait_state(plain, "processed")
    assert ids(s, "list", "--label", "customer=1") == [f"shop-{n:02}" for n in range(1, 20, 2)]
    assert ids(s, "list", "--label", "customer=1", "--label", "country=DE") == []
    assert ids(s, "list", "--label", "customer=0", "--label", "total=14.5", "--limit", "100") == [f"shop-{n:02}" for n in range(0, 20, 2)]
    assert s.cluster.tool("order", "list", "--label", "customer", check=False).returncode == 2
    shown = s.cluster.tool("order", "show", "shop-07").stdout
    assert "labels country=CH  customer=1  total=14.5" in shown, shown
    assert "labels" not in s.cluster.tool("order", "show", "plain-1").stdout
    assert json.loads(s.cluster.tool("order", "export", "shop-07").stdout)["labels"] == {"country": "CH", "customer": "1", "total": "14.5"}


@scenario(**ONE)
def a_bulk_action_takes_the_orders_with_its_label(s):
    s.load_workflow("shop", [step("charge", "payment")], on_failure="error", labels=LABELS)
    s.remote("payment").switch("decline")
    orders = [s.client.submit("shop", {"customer": n % 3}, order_id=f"shop-{n}") for n in range(6)]
    for order in orders:
        s.wait_state(order, "error")
    s.remote("payment").switch("order")
    groups = json.loads(s.cluster.tool("order", "list", "--group-by", "error", "--label", "customer=2", "-o", "json").stdout)
    assert [group["count"] for group in groups] == [2], groups
    assert ids(s, "list", "--step", "charge", "--label", "customer=2") == ["shop-2", "shop-5"]
    started = json.loads(s.cluster.tool("bulk", "start", "resume", "--label", "customer=2", "--reason", "the till is mended", "-o", "json").stdout)
    assert started["orders"] == 2, started
    assert {row["order_id"] for row in s.rows("SELECT order_id FROM bulk_order")} == {"shop-2", "shop-5"}
    assert json.loads(s.rows("SELECT filter FROM bulk")[0]["filter"]) == {"labels": {"customer": "2"}}


@scenario(**ONE)
def a_search_finds_orders_and_refused_submissions(s):
    s.load_workflow("shop", [step("charge", "payment")], labels=LABELS)
    order = s.client.submit("shop", {"customer": "Vinet"}, order_id="shop-2026-1")
    s.wait_state(order, "processed")
    wrong = s.client.submit("tripp", {}, order_id="shop-2026-2")
    long = s.client.submit("shop", {"customer": "x" * 129}, order_id="shop-2026-3")
    for refused in (wrong, long):
        s.wait(lambda refused=refused: [status for status in s.client.statuses(refused.order_id) if status["status"] == "rejected"],
               f"{refused.order_id} is refused")
    reason = s.client.statuses(long.order_id)[-1]["reason"]
    assert '/labels/customer of workflow "shop": the value of "${/payload/customer}" is above 128 bytes' in reason, reason
    found = json.loads(s.cluster.tool("order", "find", "shop-2026", "-o", "json").stdout)
    assert [(row["found_by"], row["order_id"]) for row in found][:1] == [("id", "shop-2026-1")], found
    rejected = {row["order_id"]: row for row in found if row["found_by"] == "rejected"}
    assert set(rejected) == {"shop-2026-2", "shop-2026-3"}, found
    assert 'no workflow "tripp"' in rejected["shop-2026-2"]["reason"] and rejected["shop-2026-2"]["created_at"], rejected
    assert ids(s, "find", "Vinet") == ["shop-2026-1"]
    assert s.cluster.tool("order", "find", "nothing-like-it", check=False).returncode == 3
