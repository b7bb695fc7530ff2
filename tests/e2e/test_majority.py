"""A quorum queue without its majority: RabbitMQ confirms no message to it, and blocks the channel that publishes. Only orders of
that queue may suffer, no others.

The scheduler has published nothing there before: its channel then asks the queue to register it, and waits.
"""

import time

from harness import TERMINAL, Client, scenario, step
from local import servers

DOWN_S = 25.0   # longer than the detection of the queue, its first rest, and the next trial
POST_S = 0.2    # between two orders without a part in the queue
OWED_S = 1.0    # between two orders with one
HELD_UP_S = 5.0 # a blocked scheduler stalls for longer; an order takes a tenth of it
ENDS_S = 120.0  # the next rest lasts 30 s
ATTEMPTS = 5    # some: an order survives one standstill of its scheduler
QUEUE = "client.owed.statuses"


def brief(name, service, after=(), **fields):
    """A step with attempts so short that a scheduler which stalls uses them up."""
    retry = {"attempts": ATTEMPTS, "backoff": "500ms", "max_backoff": "1s"}
    made = step(name, service, after, complete_within="5s", retry=retry, **fields)
    made["undo"].update(complete_within="5s", retry=retry)
    return made


class Load:
    """Orders of `others` and, less often, of the client or service of the queue; `is_known` returns whether the queue has been
    detected."""

    def __init__(self, s, is_known, post_other, post_owed):
        self.s, self.is_known, self.post_other, self.post_owed = s, is_known, post_other, post_owed
        self.owed = []
        self.posted = {}    # others' orders: the time of each post
        self.after = set()  # those of them that were posted after the queue was detected
        self.ended = {}     # ended orders: the end state, and the time until their client received it
        self.heard = 0

    def listen(self):
        """Records the statuses that the others' client has received since the last look."""
        told = self.s.client.messages
        for message, _ in told[self.heard:]:
            order_id = message["order_id"]
            if message["status"] in TERMINAL and order_id in self.posted:
                self.ended.setdefault(order_id, (message["status"], time.monotonic() - self.posted[order_id]))
        self.heard = len(told)

    def post(self):
        began = time.monotonic()
        order_id = self.post_other().order_id
        self.posted[order_id] = began
        return order_id

    def run(self, seconds):
        until = time.monotonic() + seconds
        next_other = next_owed = time.monotonic()
        is_known = False

        def is_due():
            self.listen()
            return time.monotonic() >= next_other

        while time.monotonic() < until:
            if time.monotonic() >= next_owed:
                self.owed.append(self.post_owed())
                next_owed += OWED_S
            order_id = self.post()
            if is_known:
                self.after.add(order_id)
            next_other += POST_S
            self.s.wait(is_due, "the next order's turn")
            is_known = is_known or self.is_known()
        # Before the node is back. And its start takes long, during which nothing is received here.
        self.s.wait(lambda: self.have_ended(self.after), "the others' orders end while the queue is without its majority", ENDS_S)

    def have_ended(self, orders):
        self.listen()
        return all(order in self.ended for order in orders)

    def check(self):
        """All of the others' orders were processed; none posted after the detection was delayed."""
        self.s.wait(lambda: self.have_ended(self.posted), "the others' orders end", ENDS_S)
        lost = {order_id: word for order_id, (word, _) in self.ended.items() if word != "processed"}
        late = {order_id: seconds for order_id, (_, seconds) in self.ended.items() if order_id in self.after and seconds > HELD_UP_S}
        slowest = max(seconds for _, seconds in self.ended.values())
        print(f"others' orders: {len(self.posted)}, not processed {len(lost)}, slowest {slowest:.1f} s; posted when the queue was "
              f"known: {len(self.after)}, held up {len(late)}, slowest {max(late.values(), default=0.0):.1f} s", flush=True)
        assert self.after, "the scheduler has not found out that a queue confirms nothing"
        assert not lost, f"{len(lost)} of {len(self.posted)} were not processed: {list(lost.items())[:5]}"
        assert not late, f"{len(late)} of {len(self.after)} were held up although the queue was known: {list(late.items())[:5]}"


def second_node(s, queue):
    second = servers.SecondRabbit(s.scratch / "rabbit2", s.servers.rabbit)
    second.start_joined().share(queue)
    return second


def logged(process, words):
    with open(process.log_path, encoding="utf-8", errors="replace") as log:
        return sum(words in line for line in log)


@scenario(own_servers=True, agents=2, supervisors=2, long="a second node of RabbitMQ starts and dies")
def a_clients_queue_without_a_majority_holds_up_no_other_client(s):
    """Would catch: a scheduler in which all clients wait behind one client's status, again at each trial; a status that is lost."""
    s.load_workflow("brief", [brief("reserve", "inventory"), brief("charge", "payment", ["reserve"]),
                              brief("ship", "carrier", ["charge"])])
    s.client.channel.queue_declare(QUEUE, durable=True, arguments={"x-queue-type": "quorum"})
    owed = Client(s.url, QUEUE)
    s.clients.append(owed)
    second = second_node(s, QUEUE)
    second.kill()
    scheduler = s.cluster.schedulers[0]
    load = Load(s, lambda: logged(scheduler, "a queue confirms no messages"), lambda: s.client.submit("brief"), lambda: owed.submit("brief"))
    load.run(DOWN_S)
    assert not owed.messages, owed.messages
    second.restart()
    load.check()
    for order in load.owed:
        owed.wait_status(order, "processed", ENDS_S)
        told = [message["seq"] for message in owed.statuses(order.order_id)]
        assert told == list(range(1, len(told) + 1)), told
    s.wait(lambda: not s.rows("SELECT 1 FROM order_event WHERE owed LIMIT 1"), "nothing is owed any more")


@scenario(own_servers=True, agents=2, supervisors=2, long="a second node of RabbitMQ starts and dies")
def a_services_queue_without_a_majority_holds_up_no_other_service(s):
    """Would catch: a scheduler in which all services wait behind one service's request, again at each trial."""
    s.load_workflow("brief", [brief("reserve", "inventory"), brief("charge", "payment", ["reserve"])])
    s.load_workflow("away", [brief("ship", "carrier")], complete_within="10m")
    second = second_node(s, "agent.carrier.requests")
    second.kill()
    load = Load(s, lambda: s.rows("SELECT 1 FROM order_step WHERE service = 'carrier' AND reason = 'no_consumer' LIMIT 1"),
                lambda: s.client.submit("brief"), lambda: s.client.submit("away"))
    load.run(DOWN_S)
    assert not s.remote("carrier").entries(), "no request was to reach it"
    second.restart()
    load.check()
    for order in load.owed:
        s.wait_state(order, "processed", ENDS_S)
