"""Server-sent events of the gateway: the statuses of an order, in order, whatever is killed, and no more of them than are allowed."""

import http.client
import json
import socket
import threading
import uuid

from harness import TERMINAL, scenario, step
from local import processes
from test_gateway import SOON_S, TOKENS, Gateway, load, order_of, start
from test_retention import leave_at_once

HEARTBEAT_WAIT_S = 60  # four heartbeats


class Stream:
    """One request for events. Its events are read one by one: (id, event, data)."""

    def __init__(self, door, order_id, after=None, last=None, client="shop", timeout_s=SOON_S):
        self.connection = http.client.HTTPConnection("127.0.0.1", door.port, timeout=timeout_s)
        headers = {"Authorization": f"Bearer {TOKENS[client]}", "Accept": "text/event-stream"}
        if last is not None:
            headers["Last-Event-ID"] = last
        path = f"/v1/orders/{order_id}/events" + (f"?after={after}" if after is not None else "")
        self.connection.request("GET", path, headers=headers)
        self.answer = self.connection.getresponse()
        self.status = self.answer.status
        door.note("GET", path, self.status)

    def lines(self):
        while True:
            line = self.answer.readline()
            if not line:
                return
            yield line.decode().rstrip("\n")

    def __iter__(self):
        assert self.status == 200 and self.answer.headers["Content-Type"] == "text/event-stream", self.answer.read()
        fields = {}
        for line in self.lines():
            name, _, value = line.partition(": ")
            if line == "" and "data" in fields:
                yield int(fields["id"]), fields["event"], fields["data"]
            if line == "":
                fields = {}
            elif name == "data" and "data" in fields:
                fields["data"] += "\n" + value
            else:
                fields[name] = value

    def close(self):
        self.answer.close()
        self.connection.close()


def words(events):
    return [word for _, word, _ in events]


def told(s, order_id):
    """[(seq, word, status)] of an order, as its history has them."""
    rows = s.rows("SELECT statuses FROM order_event WHERE order_id = %s AND statuses IS NOT NULL ORDER BY version", order_id)
    return [(status["seq"], status["status"], status) for row in rows for status in row["statuses"]]


def same(events, expected):
    return [(seq, word, json.loads(data)) for seq, word, data in events] == expected


@scenario(agents=1, schedulers=1, supervisors=1, long="alerts, pauses and time-outs pass in real time")
def statuses_over_http_come_in_order_and_again_behind_the_last_one(s):
    """Would catch: a status that is left out, comes early or in other words than over AMQP; a line end in an output that cuts an
    event; a stream that does not end, or a browser that comes back for ever; another client's order; an absurd number that is taken."""
    s.load_workflow("told", [step("charge", "payment", do={"method": "POST", "path": "/charges", "body": "${/payload}"}),
                             step("settle", "payment", after=["charge"], do={"method": "POST", "path": "/charges", "body": "${/payload}"})],
                    output={"all": "${/payload}"})
    door = start(s)
    s.remote("payment").switch("silent")
    order_id = str(uuid.uuid4())
    door.post(f'{{"order_id": "{order_id}", "workflow": "told", "notify": "steps", "payload": {{"a": 1.50,\r\n\n"b": 2}}}}'.encode())
    stream = Stream(door, order_id)
    events = iter(stream)
    first = next(events)
    assert first[:2] == (1, "accepted"), first
    assert (door.process.metric("makegood_gateway_event_streams") or 0) == 1
    s.remote("payment").switch("order")
    rest = list(events)
    assert same([first] + rest, told(s, order_id)), (first, rest)
    assert words(rest) == ["step_completed", "step_completed", "processed"], rest
    assert '"a": 1.50,\n\n\n"b": 2' in rest[-1][2], rest[-1]

    assert same(list(Stream(door, order_id)), told(s, order_id)), "an ended order"
    assert same(list(Stream(door, order_id, after=2)), told(s, order_id)[2:])
    assert same(list(Stream(door, order_id, after=0, last="3")), told(s, order_id)[3:]), "the header is newer than the address"
    assert Stream(door, order_id, last="4").status == 204, "a browser comes back no more"
    assert Stream(door, order_id, last="9" * 18).status == 204
    for absurd in ("", "-1", "4x", "4.0", "0x4", " ", "9" * 19, "9" * 4000, "null"):
        assert Stream(door, order_id, last=absurd).status == 400, absurd
    assert Stream(door, order_id, after="x").status == 400
    assert Stream(door, order_id, client="other").status == 404
    assert Stream(door, "never-posted").status == 404

    scheduler = s.cluster.schedulers[0]
    scheduler.pause()
    try:
        queued = str(uuid.uuid4())
        door.post({"order_id": queued, "workflow": "told"})
        waiting = Stream(door, queued)
        other_door = Gateway(s)
        other_door.process.wait_ready()
        found = []
        asker = threading.Thread(target=lambda: found.extend(Stream(other_door, queued)))
        asker.start()
        s.wait(lambda: other_door.process.metric("makegood_gateway_waiting_calls") == 1, "the other gateway waits for the order")
    finally:
        scheduler.resume()
    assert words(waiting)[0] == "accepted"
    asker.join()
    assert same(found, told(s, queued)), found

    s.remote("payment").switch("decline")
    declined = str(uuid.uuid4())
    door.post({"order_id": declined, "workflow": "told"})
    turned = list(Stream(door, declined))
    assert words(turned)[-1] == "compensated" and json.loads(turned[-1][2])["cause"]["step"] == "charge", turned
    s.wait(lambda: door.process.metric("makegood_gateway_event_streams") == 0, "all streams have ended")


@scenario(agents=1, schedulers=1, supervisors=1, long="graces, elections and patience pass in real time")
def streams_are_bounded_and_stay_alive_in_a_pause(s):
    """Would catch: a client that takes the streams of all; a silence that a proxy ends; a client that hung up and is never missed."""
    load(s)
    door = start(s)
    s.remote("payment").switch("silent")
    order_id, body = order_of()
    door.post(body)
    streams = [Stream(door, order_id, timeout_s=HEARTBEAT_WAIT_S) for _ in range(100)]
    assert {stream.status for stream in streams} == {200}
    assert Stream(door, order_id).status == 429
    foreign_id, foreign = order_of()
    door.post(foreign, client="other")
    foreigner = Stream(door, foreign_id, client="other")
    assert foreigner.status == 200, "others have places"
    assert ":" in streams[0].lines(), "a comment comes in the pause"
    for stream in streams + [foreigner]:
        stream.close()
    s.wait(lambda: door.process.metric("makegood_gateway_event_streams") == 0, "clients that hung up are missed", HEARTBEAT_WAIT_S)
    assert Stream(door, order_id).status == 200
    s.remote("payment").switch("order")
    for client, wanted in (("shop", order_id), ("other", foreign_id)):
        s.wait(lambda client=client, wanted=wanted: door.get(wanted, client=client)["state"] in TERMINAL, "it ends")


@scenario(agents=1, schedulers=2, supervisors=1)
def a_gateway_killed_under_its_streams_loses_no_status(s):
    """Would catch: a status that no stream brought, because it came while the gateway was away or between two streams of a client."""
    load(s)
    door = start(s)
    orders = [order_of() for _ in range(40)]
    seen = {order_id: [] for order_id, _ in orders}

    def follow(order_id, body):
        def is_done():
            try:
                if not seen[order_id] and door.ask("POST", "/v1/orders", body)[0] != 202:
                    return False
                last = str(seen[order_id][-1][0]) if seen[order_id] else None
                for event in Stream(door, order_id, last=last):
                    seen[order_id].append(event)
            except (OSError, http.client.HTTPException, AssertionError, socket.timeout):
                pass  # it was killed; the next one begins soon
            return bool(seen[order_id]) and seen[order_id][-1][1] in TERMINAL
        processes.wait_until(is_done, f"{order_id} has ended", SOON_S * 2)
    followers = [threading.Thread(target=follow, args=order) for order in orders]
    for follower in followers:
        follower.start()
    for share in (10, 50, 70):
        s.wait(lambda share=share: sum(map(len, seen.values())) >= share, "some statuses have come")
        door.process.kill()
        door.process.start()
    for follower in followers:
        follower.join()
    door.process.wait_ready()  # one that has no handler of signals yet would die of its end
    for order_id, _ in orders:
        assert same(seen[order_id], told(s, order_id)), (order_id, seen[order_id])


@scenario(agents=1, schedulers=1, supervisors=1, long="graces, elections and patience pass in real time")
def an_archived_order_is_read_with_its_events_by_its_client_alone(s):
    """Would catch: an order that its client loses with the tables' row, or reads in other words; one that another client reads."""
    load(s)
    door = start(s)
    order_id, body = order_of()
    door.post(body)
    before, events = door.get(order_id), list(Stream(door, order_id))
    assert before["state"] == "processed" and words(events)[-1] == "processed", events
    leave_at_once(s)
    s.wait(lambda: not s.rows("SELECT FROM order_process WHERE order_id = %s", order_id), "it has left")
    kept = door.get(order_id)
    assert kept.pop("archived_on") == str(s.rows("SELECT archived_on FROM order_archive WHERE order_id = %s", order_id)[0]["archived_on"])
    assert "it is read-only" in kept["explanation"].pop("next") and before["explanation"].pop("next") == "nothing"
    assert kept == before, (kept, before)
    assert list(Stream(door, order_id)) == events and list(Stream(door, order_id, after=1)) == events[1:]
    assert Stream(door, order_id, after=events[-1][0]).status == 204
    door.get(order_id, 404, wait=None, client="other")
    assert door.ask("POST", f"/v1/orders/{order_id}/cancel")[0] == 409, "it has ended"
    assert door.ask("POST", f"/v1/orders/{order_id}/cancel", client="other")[0] == 404
    assert Stream(door, order_id, client="other").status == 404
