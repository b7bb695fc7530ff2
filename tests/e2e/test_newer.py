"""Messages that only a newer version can read: they make a bounded number of rounds, and no order waits for them."""

import json
import re
import time

import pika

from harness import scenario

FLOOD = 3000
ORDERS = 20
ORDER_MAX_S = 5.0  # alongside the flood, from its post to its last status
NEWER = json.dumps({"v": 99, "order_id": "x"}).encode()


@scenario(schedulers=2, long="the simulator plays it with every seed")
def a_flood_of_a_newer_version_holds_no_order_up(s):
    """Would catch: a prefetch full of replies that no scheduler can read, behind which every other reply waits."""
    s.client.wait_status(s.client.submit(payload={"n": -1}), "processed")
    flood = pika.BlockingConnection(pika.URLParameters(s.url)).channel()
    for _ in range(FLOOD):
        flood.basic_publish("makegood.replies", "scheduler.replies", NEWER, pika.BasicProperties(delivery_mode=2, type="reply"))
    slowest = 0.0
    for number in range(ORDERS):
        began = time.monotonic()
        s.client.wait_status(s.client.submit(payload={"n": number}), "processed", timeout_s=ORDER_MAX_S)
        slowest = max(slowest, time.monotonic() - began)
    print(f"the slowest of {ORDERS} orders beside {FLOOD} such messages took {slowest:.2f} s")
    flood.connection.close()
    alert = s.wait(lambda: s.alerts("newer_version"), "an alert tells of them")[0]
    assert alert["subject"] == "scheduler.replies" and "dead requeue" in alert["text"], alert
    told = [scheduler.get("/readyz") for scheduler in s.cluster.schedulers]
    assert all(status == 200 for status, _ in told) and any("newer version" in text for _, text in told), told
    s.wait(lambda: s.client.depth("dead.letters") > FLOOD // 2, "most of them are set aside")


def left_count(scheduler):
    return int(re.search(r"(\d+) left to other", scheduler.get("/readyz")[1]).group(1))


@scenario(long="the simulator plays it with every seed")
def messages_set_aside_as_newer_return_by_a_requeue(s):
    """Would catch: a message that is lost in a roll-out in the wrong order, because it cannot be brought back."""
    s.client.publish(NEWER, "scheduler.replies", exchange="makegood.replies", type="reply", headers={"x-acquired-count": 15})
    s.wait(lambda: s.alerts("newer_version"), "an alert tells of it")
    s.wait(lambda: s.client.depth("dead.letters") == 1, "it is set aside")
    before = left_count(s.cluster.schedulers[0])
    s.cluster.tool("dead", "requeue", "1", "--reason", "the schedulers are new now")
    s.wait(lambda: s.client.depth("dead.letters") == 0, "it has left the dead letters")
    s.wait(lambda: left_count(s.cluster.schedulers[0]) > before, "a scheduler has it again")
    s.cluster.tool("alert", "ack", s.alerts("newer_version")[0]["alert_id"], "--reason", "requeued")
    assert s.alerts("newer_version")[0]["closed_at"] is not None
