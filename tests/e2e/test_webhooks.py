"""Webhooks of the gateway: every status at its client's address, signed and in order, whatever fails on the way."""

import itertools
import json
import os
import re
import signal
import threading
import time
import urllib.parse
import uuid

from harness import TERMINAL, scenario
from test_gateway import Gateway, load, logged, order_of
from test_gateway_events import told
from webhooks import Receiver, new_secret, write_files

BACK_S = 90  # the longest wait of a target that is down is 60 s
EDITS = int(os.environ.get("MAKEGOOD_EDITS", "16"))
DARK_S = float(os.environ.get("MAKEGOOD_DARK_S", "100"))  # beyond that wait


class Hooks:
    """Receivers of the clients, and the files that name them."""

    def __init__(self, s, *clients):
        self.receivers = {client: Receiver(new_secret()) for client in clients}
        self.secrets = {client: [receiver.secret] for client, receiver in self.receivers.items()}
        self.folder = s.scratch
        words = [word for client in clients for word in ("--client", client)]
        s.cluster.tool("broker", "apply", "--client", "shop", "--client", "other")  # the tokens' clients
        s.cluster.tool("broker", "apply", "--webhook", *words)
        s.cluster.tool("broker", "check", "--webhook", *words)
        self.path = self.write()

    def write(self, *clients):
        """The lines of these clients, or of all."""
        return write_files(self.folder, [(client, self.receivers[client].url, self.secrets[client]) for client in clients or self.receivers])

    def end(self):
        for receiver in self.receivers.values():
            receiver.end()


def statuses_of(s, order_id):
    """Each status once: a repeated post writes the last one again."""
    return list({status["seq"]: status for _, _, status in told(s, order_id)}.values())


def wait_told(s, receiver, orders, timeout_s=45.0):
    """Each of these orders has ended, and its receiver has all of its statuses."""
    def is_told(order_id):
        history = statuses_of(s, order_id)
        return history and history[-1]["status"] in TERMINAL and set(receiver.seqs(order_id)) >= {each["seq"] for each in history}
    for order_id in orders:
        s.wait(lambda order_id=order_id: is_told(order_id), f"all statuses of {order_id} have come", timeout_s)
        receiver.assert_whole(order_id, statuses_of(s, order_id))


def post_some(door, count, **options):
    made = []
    for _ in range(count):
        order_id, body = order_of()
        door.post(body, **options)
        made.append(order_id)
    return made


@scenario(agents=1, schedulers=1, supervisors=1)
def a_webhook_gets_every_status_signed_and_in_order_and_a_bad_one_harms_no_other(s):
    """Would catch: a signature that Python's hmac does not accept; a status that is lost, or overtaken, while its target answers
    500, is silent or is gone; another client that waits meanwhile; a repeated post that leaves an order from before the webhook
    without it; a secret that is not rotated, or is in a log."""
    load(s)
    hooks = Hooks(s, "shop", "other")
    shop, other = hooks.receivers["shop"], hooks.receivers["other"]
    hooks.write("shop")
    door = Gateway(s, "--webhooks-file", hooks.path)
    door.process.wait_ready()

    early, body = order_of()
    door.post(body, client="other")
    assert door.get(early, client="other")["state"] == "processed"
    hooks.write()
    door.process.signal(signal.SIGHUP)
    s.wait(lambda: logged(door, "client.other.webhook"), "the new line is read, and its queue")
    assert not other.seqs(early)
    door.post(body, client="other")
    wait_told(s, other, [early])

    orders = post_some(door, 3)
    declined, body = order_of()
    s.remote("payment").switch("decline")
    door.post(body)
    assert door.get(declined)["state"] == "compensated"
    s.remote("payment").switch("order")
    wait_told(s, shop, orders + [declined])

    shop.answer = lambda status: 500 if status["seq"] > 1 else 302
    refused = post_some(door, 12)
    s.wait(lambda: len({status["order_id"] for _, _, status in shop.tries} & set(refused)) >= 5, "the target has refused some")
    shop.answer = lambda status: None  # and now it is silent
    others = post_some(door, 12, client="other")
    wait_told(s, other, others)
    s.wait(lambda: logged(door, "takes no statuses"), "the target counts as down")
    s.wait(lambda: door.process.series("makegood_webhook_failing_seconds", client="shop") > 0, "its metric tells for how long")
    assert door.process.series("makegood_webhook_failing_seconds", client="other") == 0
    assert door.process.is_ready(), "a target is no part of the gateway"
    shop.end()
    later = post_some(door, 3)
    shop.answer = lambda status: 200
    shop.go.clear()
    shop.begin()
    wait_told(s, shop, refused + later, BACK_S)
    assert other.most_at_once <= 8 and shop.most_at_once <= 8, (other.most_at_once, shop.most_at_once)
    assert [shop.seqs(order_id) for order_id in later] == [[1, 2]] * 3, "once is enough for a target that takes them"
    assert logged(door, "takes statuses again")

    old = shop.secret
    hooks.secrets["shop"] = [new_secret(), old]
    hooks.write()
    door.process.signal(signal.SIGHUP)
    s.wait(lambda: len(logged(door, "webhooks-file")) == 2, "the file is read again")
    wait_told(s, shop, post_some(door, 1))
    shop.secret = hooks.secrets["shop"][0]
    wait_told(s, shop, post_some(door, 1))
    hooks.secrets["shop"] = ["whsec_tooshort"]
    hooks.write()
    door.process.signal(signal.SIGHUP)
    s.wait(lambda: len(logged(door, "webhooks-file")) == 3, "it is read again")
    refusal = logged(door, "webhooks-file")[2]
    assert "line 1: secrets in" in refusal and "base64 of 24 to 64 random bytes" in refusal, refusal
    wait_told(s, shop, post_some(door, 1))
    checked = s.cluster.tool("gateway", "--tokens-file", s.scratch / "gateway-tokens", "--webhooks-file", hooks.path, "--check-config",
                             check=False)
    assert checked.returncode == 2 and "line 1: secrets in" in checked.stderr, checked
    with open(door.process.log_path, encoding="utf-8") as log:
        text = log.read() + door.process.page()
    assert not [secret for secret in (old, shop.secret, "tooshort") if secret.removeprefix("whsec_") in text]

    mine = str(uuid.uuid4())
    s.client.publish(order_of(order_id=mine)[1], exchange="makegood.intake.shop", message_id=mine, reply_to="client.shop.webhook")
    wait_told(s, shop, [mine])
    stranger = str(uuid.uuid4())
    s.client.publish(order_of(order_id=stranger)[1], message_id=stranger, reply_to="client.shop.webhook")
    s.wait(lambda: s.client.depth("orders.rejected") == 1, "another client's statuses are not sent with this one's signature")
    assert not shop.seqs(stranger) and s.client.get("orders.rejected")
    hooks.end()


@scenario(agents=1, schedulers=2, supervisors=1, long="graces, elections and patience pass in real time")
def a_gateway_killed_under_its_webhooks_loses_no_status(s):
    """Would catch: a status that is acked before its target has it; one that a gateway that takes over sends out of order; two
    gateways that send side by side."""
    load(s)
    hooks = Hooks(s, "shop")
    shop = hooks.receivers["shop"]
    doors = [Gateway(s, "--webhooks-file", hooks.path) for _ in range(2)]
    for door in doors:
        door.process.wait_ready()
    orders = []
    for share in (10, 60, 110):
        orders += post_some(doors[1], 40)
        s.wait(lambda share=share: len(shop.taken) >= share, "some statuses have come")
        doors[0].process.kill()
        doors[0].process.start()
        doors[0].process.wait_ready()
        doors.reverse()  # the one that took over is the next to die
    wait_told(s, shop, orders)
    s.wait(lambda: not s.client.depth("client.shop.webhook"), "all are acked")
    repeats = len(shop.taken) - sum(len(statuses_of(s, order_id)) for order_id in orders)
    assert repeats <= 3 * 3 * 64, f"{repeats} of {len(shop.taken)} came again"  # of each kill the window, and the earlier ones
    hooks.end()


@scenario(agents=1, schedulers=1, supervisors=1, long="graces, elections and patience pass in real time")
def statuses_that_find_no_room_for_a_webhook_come_later_in_their_order(s):
    """Would catch: a status that is lost, or overtaken by later ones, while the queue of its webhook is missing or full; a gateway
    that hides a missing queue, does not find it later, or serves no other client without it."""
    load(s)
    hooks = Hooks(s, "shop")
    shop = hooks.receivers["shop"]
    s.client.channel.queue_delete("client.shop.webhook")
    door = Gateway(s, "--webhooks-file", hooks.path)
    s.wait(lambda: "makegood broker apply --client shop --webhook" in door.process.get("/readyz")[1], "it names the remedy")
    s.wait(door.process.is_ready, "the queue of one client stops no other")
    s.wait(lambda: door.process.series("makegood_webhook_queue_up", client="shop") == 0, "its metric shows it")
    s.wait(lambda: re.search("WRONG gateway .*client.shop.webhook", s.cluster.tool("doctor", check=False).stdout), "doctor names it")
    orders = post_some(door, 3)
    for order_id in orders:
        assert door.get(order_id)["state"] == "processed"
    s.wait(lambda: len(s.rows("SELECT DISTINCT order_id FROM order_event WHERE owed")) == 3, "all of them are owed")
    s.cluster.tool("broker", "apply", "--webhook", "--client", "shop")
    s.wait(lambda: door.process.series("makegood_webhook_queue_up", client="shop") == 1, "it is read again")
    wait_told(s, shop, orders, BACK_S)

    door.process.terminate()
    vhost = urllib.parse.unquote(s.url.rsplit("/", 1)[1])
    s.servers.rabbit.ctl("set_policy", "-p", vhost, "--apply-to", "queues", "--priority", "9", "small", r"^client\.shop\.webhook$",
                         json.dumps({"max-length": 2}))
    orders = [order_of() for _ in range(8)]
    for order_id, body in orders:
        s.client.publish(body, exchange="makegood.intake.shop", message_id=order_id, reply_to="client.shop.webhook")
    s.wait(lambda: s.rows("SELECT FROM order_event WHERE owed"), "some are owed")
    door.process.start()
    door.process.wait_ready()
    wait_told(s, shop, [order_id for order_id, _ in orders], BACK_S)
    s.wait(lambda: not s.rows("SELECT FROM order_event WHERE owed"), "nothing is owed any more", BACK_S)
    hooks.end()


@scenario(agents=1, schedulers=1, supervisors=1, long="graces, elections and patience pass in real time")
def a_dark_receiver_gets_every_status_afterwards_and_holds_up_no_other(s):
    """Would catch: a status that is given up, lost or overtaken while nothing listens, also across a kill of the gateway; another
    client whose statuses wait for the dark one. MAKEGOOD_DARK_S sets the seconds of darkness."""
    load(s)
    hooks = Hooks(s, "shop", "other")
    shop, other = hooks.receivers["shop"], hooks.receivers["other"]
    door = Gateway(s, "--webhooks-file", hooks.path)
    door.process.wait_ready()
    orders = post_some(door, 5)
    wait_told(s, shop, orders)

    shop.end()
    began, was_killed = time.monotonic(), False
    while time.monotonic() - began < DARK_S:
        orders += post_some(door, 1)
        wait_told(s, other, post_some(door, 1, client="other"))
        if not was_killed and time.monotonic() - began > DARK_S / 2:
            was_killed = True
            door.process.kill()
            door.process.start()
            door.process.wait_ready()
    assert was_killed and sum(bool(shop.seqs(order_id)) for order_id in orders) == 5
    assert s.client.depth("client.shop.webhook") > 64, "more than the gateway has in hand"
    shop.begin()
    wait_told(s, shop, orders, BACK_S)
    s.wait(lambda: not s.client.depth("client.shop.webhook"), "all are acked")
    hooks.end()


class Edits:
    """Edits of a client's line while another client's stays; each is read before the next one."""

    def __init__(self, s, door, hooks):
        self.s, self.door, self.hooks = s, door, hooks
        self.url, self.numbers = hooks.receivers["shop"].url, itertools.count()

    def read(self, *lines):
        before = len(logged(self.door, "webhooks-file"))
        self.hooks.path.write_text("".join(line + "\n" for line in lines), encoding="ascii")
        self.door.process.signal(signal.SIGHUP)
        self.s.wait(lambda: len(logged(self.door, "webhooks-file")) > before, "the file is read")

    def lines(self, *words, url=None):
        other = self.hooks.receivers["other"].url
        return " ".join(["shop", url or self.url, "shop.secrets", *words]), f"other {other} other.secrets"

    def other_away(self):
        self.read(self.lines()[0])

    def away(self):
        self.read(self.lines()[1])

    def emptied(self):
        self.read()

    def spoilt(self):
        self.read(*self.lines("concurrency=none"))

    def busier(self):
        self.read(*self.lines(f"concurrency={1 + next(self.numbers) % 9}"))

    def moved(self):
        self.read(*self.lines(url=f"{self.url}?{next(self.numbers)}"))

    def moved_to_nothing(self):
        self.read(*self.lines(url="http://127.0.0.1:1/statuses"))

    def back(self):
        self.read(*self.lines())


@scenario(agents=1, schedulers=2, supervisors=1)
def edits_of_the_webhooks_file_lose_no_status(s):
    """Would catch: an order without its webhook, since its entry was away for a moment; a status in hand that is lost, overtaken or
    kept for long when its webhook ends, begins or gets another address; an emptied file that ends all webhooks. MAKEGOOD_EDITS sets
    the number of edits."""
    load(s)
    hooks = Hooks(s, "shop", "other")
    shop = hooks.receivers["shop"]
    door = Gateway(s, "--webhooks-file", hooks.path)
    door.process.wait_ready()
    tries = itertools.count()
    shop.answer = lambda status: 503 if next(tries) % 20 == 0 else 200
    orders, is_over = [], threading.Event()

    def post():
        while not is_over.is_set():
            orders.extend(post_some(door, 4))
            door.get(orders[-1])

    poster = threading.Thread(target=post)
    poster.start()
    try:
        edits = Edits(s, door, hooks)
        kinds = (edits.other_away, edits.away, edits.moved_to_nothing, edits.emptied, edits.moved, edits.spoilt, edits.away, edits.busier)
        for edit in itertools.islice(itertools.cycle(kinds), EDITS):
            edit()
            s.wait(lambda known=len(orders): len(orders) > known + 1, "orders are posted meanwhile")
            edits.back()
            s.wait(lambda known=len(shop.taken): len(shop.taken) > known, "statuses come again", BACK_S)
    finally:
        is_over.set()
        poster.join()
    wait_told(s, shop, orders, BACK_S)
    assert logged(door, "leave a comment in it"), "the emptied file was refused"
    hooks.end()
