"""The moment of acceptance in expressions: the same for an order whatever dies, and however often it is posted."""

import json

from harness import scenario, step

AT = "${= order.accepted_at}"
# The first dies between the commit of the order and its messages, the others after the messages and around the reply.
PLACES = ("scheduler_committed:1", "scheduler_published:1", "scheduler_decided:2", "scheduler_committed:2")


def posts(path):
    return {"method": "POST", "path": path, "body": {"at": AT, "by": "${= time(order.accepted_at) + duration('36h')}"}}


@scenario()
def the_moment_of_acceptance_outlives_the_scheduler_that_took_it(s):
    """Would catch: a moment that is taken anew by another process, so that a key carries other bytes the second time."""
    s.load_workflow("timed", [step("ship", "carrier", do=posts("/bookings")),
                              step("charge", "payment", after=["ship"], do=posts("/charges"),
                                   when="time(order.accepted_at) > time('2020-01-01T00:00:00Z')")],
                    labels={"at": AT}, output={"at": AT})
    victim = s.cluster.schedulers[0]
    environment = dict(victim.env)
    for place in PLACES:
        victim.kill()
        victim.env = {**environment, "MAKEGOOD_FAILPOINT": place}
        victim.start()
        order = s.client.submit("timed", {"place": place})
        s.wait(lambda: not victim.is_running(), f"the scheduler dies at {place}")
        victim.env = environment
        victim.start()
        s.client.post(order)
        status = s.client.wait_status(order, "processed")
        moment = s.rows("SELECT makegood_time(created_at) AS at FROM order_process WHERE order_id = %s", order.order_id)[0]["at"]
        assert status["output"] == {"at": moment}, (place, status, moment)
        assert s.client.wait_status(order, "accepted")["at"] == moment, (place, moment)
        assert [row["value"] for row in s.rows("SELECT value FROM order_label WHERE order_id = %s", order.order_id)] == [moment]
        for name, service in (("ship", "carrier"), ("charge", "payment")):
            entry = s.effect(order, name, service)
            body = json.loads(entry["body"])
            assert body["at"] == moment and body["by"] > moment and entry["conflicts"] == 0, (place, entry, moment)
    s.ends_badly.add(victim.name)


@scenario(long="others of its kind are quick")
def an_order_that_is_undone_and_restarted_keeps_its_moment(s):
    """Would catch: a step that has the moment of the operator's command after a restart."""
    s.load_workflow("timed", [step("ship", "carrier", do=posts("/bookings")), step("charge", "payment", after=["ship"])])
    s.remote("payment").switch("decline")
    order = s.client.submit("timed", {"n": 1})
    s.client.wait_status(order, "compensated")
    s.remote("payment").switch("order")
    first = json.loads(s.effect(order, "ship", "carrier")["body"])
    s.cluster.tool("order", "restart", order.order_id, "--reason", "the card has been changed")
    s.wait_state(order, "processed")
    again = json.loads(s.effect(order, "ship", "carrier", generation=1)["body"])
    assert again == first, (first, again)
