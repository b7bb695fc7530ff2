"""An undo proves what a do proves: each kind of answer to it, against the real agent."""

import json
import threading

from harness import scenario, step
from test_reach import StandIn, as_json

WORDS = {"code": "insufficient_funds", "message": "the account is empty"}
OK, FAILED, PENDING = {"status": "succeeded"}, {"status": "failed", **WORDS}, {"status": "pending"}
CONDITIONS = {"done_when": "result.status == 'succeeded'", "refused_when": "result.status == 'failed'"}
PAGE = (404, "text/html", b"<html>default backend</html>", {})

# name: (the answers to the undo, the last one for all further calls; the step's state, its error code, calls of the undo)
CELLS = {
    "ok": ([as_json(200, OK)], "undone", None, 1),
    "failed": ([as_json(200, FAILED)], "undo_failed", "refused/insufficient_funds", 1),
    "pending, ok": ([as_json(200, PENDING), as_json(200, OK)], "undone", None, 2),
    "pending, failed": ([as_json(200, PENDING), as_json(200, FAILED)], "undo_failed", "refused/insufficient_funds", 2),
    "pending": ([as_json(200, PENDING)], "undo_failed", "not_done_yet", 3),
    "202 ok": ([as_json(202, OK)], "undone", None, 1),
    "202 failed": ([as_json(202, FAILED)], "undo_failed", "refused/insufficient_funds", 1),
    "202 pending, ok": ([as_json(202, PENDING), as_json(200, OK)], "undone", None, 2),
    "202 empty, ok": ([(202, "application/json", b"", {}), as_json(200, OK)], "undone", None, 2),
    "204": ([(204, "application/json", b"", {})], "undo_failed", "answer_unclear", 3),
    "no member": ([as_json(200, {"state": "succeeded"})], "undo_failed", "answer_unclear", 3),
    "error in 200": ([as_json(200, {"errors": ["no"]})], "undo_failed", "answer_unclear", 3),
    "text": ([(200, "text/plain", b"it is done", {})], "undo_failed", "answer_unclear", 3),
    "page as text, ok": ([(200, "text/plain", b"<?xml version='1.0'?><html>", {}), as_json(200, OK)], "undone", None, 2),
    "422": ([as_json(422, WORDS)], "undo_failed", "http_422/insufficient_funds", 1),
    "own 404": ([as_json(404, {})], "undone", None, 1),
    "own 410": ([as_json(410, {})], "undone", None, 1),
    "foreign 404, ok": ([PAGE, as_json(200, OK)], "undone", None, 2),
    "foreign 410, ok": ([(410, *PAGE[1:]), as_json(200, OK)], "undone", None, 2),
    "foreign 404": ([PAGE], "undo_failed", "http_404", 3),
    "500, ok": ([as_json(500, {}), as_json(200, OK)], "undone", None, 2),
    "no answer, ok": ([None, as_json(200, OK)], "undone", None, 2),
    "no answer, failed": ([None, as_json(200, FAILED)], "undo_failed", "refused/insufficient_funds", 2),
}


class Refunds(StandIn):
    """Charges all, refuses to ship, and answers a refund as the cell of its order has it."""

    def __init__(self):
        super().__init__()
        self.undone = {}  # calls of the undo, by cell

    def answer(self, call, body):
        if call.path == "/charge":
            return as_json(200, {"id": "ch_1", "status": "failed"})  # its conditions are the undo's alone
        if call.path == "/ship":
            return as_json(422, {})
        cell = json.loads(body)["cell"]
        self.undone[cell] = self.undone.get(cell, 0) + 1
        answers = CELLS[cell][0]
        return answers[min(self.undone[cell], len(answers)) - 1]


def start_agent(s, shop, name="shop", env=(), **members):
    """Its breaker stays closed: most cells are failures."""
    path = s.scratch / f"service-{name}.json"
    path.write_text(json.dumps({"service": name, "url": shop.url, "tries": 1, "breaker": {"min_calls": 1000000}, **members}), encoding="utf-8")
    agent = s.cluster.make("agent", f"agent-{name}-{len(s.cluster.agents)}", "--service", path)
    agent.env = {**agent.env, **dict(env)}
    s.cluster.agents.append(agent)
    return agent.start().wait_ready()


def steps(**undo):
    """A charge that its undo refunds, and a step that fails."""
    few = {"attempts": 3, "backoff": "20ms", "max_backoff": "20ms"}
    charge = step("charge", "shop", complete_within="3s", **({"learn": "repeat"} if "verify" in undo else {}), do={"method": "POST", "path": "/charge", "body": {}})
    charge["undo"] = {"method": "POST", "path": "/refund", "body": {"cell": "${/payload/cell}"}, "retry": few, **undo}
    return [charge, step("ship", "shop", after=["charge"], do={"method": "POST", "path": "/ship", "body": {}})]


@scenario(agents=0, services=("shop",), long="each answer, right or argument in turn")
def an_undo_is_done_only_if_its_answer_proves_it(s):
    """Would catch: a refund that failed or is pending in a 200 and counts as undone; a proxy's page that does."""
    s.expects_open_orders = True
    shop = Refunds()
    start_agent(s, shop)
    s.load_workflow("refund", steps(**CONDITIONS), on_failure="compensate")
    orders = {cell: s.client.submit("refund", {"cell": cell}) for cell in CELLS}
    wrong = []
    for cell, order in orders.items():
        _, state, code, calls = CELLS[cell]
        s.wait(lambda order=order: s.state(order) in ("compensated", "error"), f"the order of {cell!r} ends")
        row = s.step(order, "charge")
        seen = (row["state"], row["error_code"] if state == "undo_failed" else None, shop.undone[cell], s.state(order))
        wanted = (state, code, calls, "compensated" if state == "undone" else "error")
        wrong += [f"{cell}: {seen} in place of {wanted}: {row['error_text']}"] if seen != wanted else []
    assert not wrong, "\n".join(wrong)
    explained = s.cluster.tool("order", "explain", orders["failed"].order_id).stdout
    assert "refused: refused_when: result.status == 'failed' was 'failed' == 'failed'" in explained, explained
    assert WORDS["message"] in explained, explained
    explained = s.cluster.tool("order", "explain", orders["pending"].order_id).stdout
    assert "not done yet: done_when: result.status == 'succeeded' was 'pending' == 'succeeded'" in explained, explained
    print(f"{len(CELLS)} cells")


@scenario(agents=0, services=("shop",), long="each answer, right or argument in turn")
def an_undo_without_conditions_is_judged_by_its_status(s):
    """Would catch: a definition of earlier versions that changes its meaning; a page that does; an unread answer without a trace."""
    shop = Refunds()
    start_agent(s, shop)
    s.load_workflow("plain", steps(), on_failure="compensate")
    for cell, calls in {"ok": 1, "failed": 1, "pending": 1, "202 ok": 1, "202 empty, ok": 1, "204": 1, "page as text, ok": 2, "text": 1}.items():
        order = s.client.submit("plain", {"cell": cell})
        s.wait_state(order, "compensated")
        assert (s.step_state(order, "charge"), shop.undone[cell]) == ("undone", calls), (cell, shop.undone)
    shown = s.cluster.tool("order", "show", order.order_id).stdout
    assert "the answer of shop has a body, and it cannot be read as JSON" in shown, shown


# name: (the answers to the undo, those to its verify; the step's state, its error code, calls of the undo, least calls of its verify)
POLLED = {
    "202, ok": ([as_json(202, {})], [as_json(200, OK)], "undone", None, 1, 1),
    "pending, pending, ok": ([as_json(200, PENDING)], [as_json(200, PENDING), as_json(200, OK)], "undone", None, 1, 2),
    "202, failed": ([as_json(202, {})], [as_json(200, FAILED)], "undo_failed", "refused/insufficient_funds", 1, 1),
    "202, 503, page, ok": ([as_json(202, {})], [as_json(503, {}), PAGE, as_json(200, OK)], "undone", None, 1, 3),
    "202, never": ([as_json(202, {})], [as_json(200, PENDING)], "undo_failed", "not_done_yet", 1, 3),
    "202, absent, ok": ([as_json(202, {}), as_json(200, OK)], [as_json(404, {})], "undone", None, 2, 2),
    "failed": ([as_json(200, FAILED)], [], "undo_failed", "refused/insufficient_funds", 1, 0),
    "lost, done": ([None], [as_json(200, OK)], "undone", None, 1, 1),
    "lost, pending, ok": ([None], [as_json(200, PENDING), as_json(200, OK)], "undone", None, 1, 2),
    "lost, absent, ok": ([None, as_json(200, OK)], [as_json(404, {})], "undone", None, 2, 1),
    "lost, failed": ([None], [as_json(200, FAILED)], "undo_failed", "refused/insufficient_funds", 1, 1),
    "silent, done": (["silent"], [as_json(200, OK)], "undone", None, 1, 1),
    "silent, absent, ok": (["silent", as_json(200, OK)], [as_json(404, {})], "undone", None, 2, 1),
    "unclear, done": ([as_json(200, {})], [as_json(200, OK)], "undone", None, 1, 1),
}


class PolledRefunds(Refunds):
    """A refund is asked about by its own key."""

    def __init__(self):
        super().__init__()
        self.cells, self.asked, self.wrong, self.stuck = {}, {}, [], threading.Event()

    def answer(self, call, body):
        if call.command == "POST" and call.path != "/refund":
            return super().answer(call, body)
        key = call.headers["Idempotency-Key"]
        cell = self.cells.setdefault(key, json.loads(body)["cell"]) if call.command == "POST" else self.cells.get(key)
        if cell is None or not key.endswith(".undo") or (call.command == "GET" and call.path != f"/refund/{key}/ch_1"):
            self.wrong.append((call.path, key))
            return as_json(400, {})
        counts, answers = (self.undone, POLLED[cell][0]) if call.command == "POST" else (self.asked, POLLED[cell][1])
        counts[cell] = counts.get(cell, 0) + 1
        answer = answers[min(counts[cell], len(answers)) - 1]
        if answer == "silent":
            self.stuck.wait(SILENT_S)
            return None
        return answer


SILENT_S = 1.6  # above the undo's complete_within


def polled_judged(s, shop, orders):
    wrong = []
    for cell, order in orders.items():
        _, _, state, code, calls, polls = POLLED[cell]
        s.wait(lambda order=order: s.state(order) in ("compensated", "error"), f"the order of {cell!r} ends", 40)
        row = s.step(order, "charge")
        asked = shop.asked.get(cell, 0)
        seen = (row["state"], row["error_code"] if state == "undo_failed" else None, shop.undone[cell], asked >= polls, row["result"])
        wanted = (state, code, calls, True, '{"id": "ch_1", "status": "failed"}')
        wrong += [f"{cell}: {seen} in place of {wanted}, asked {asked}: {row['error_text']}"] if seen != wanted else []
    return wrong


@scenario(agents=0, services=("shop",), long="each answer, right or argument in turn")
def an_undo_is_polled_and_verified_as_a_do_is(s):
    """Would catch: accepted undos that count as undone; a lost answer that repeats a refund, or proves one; a poll's answer that
    takes the place of the step's result."""
    s.expects_open_orders = True
    shop = PolledRefunds()
    start_agent(s, shop)
    s.load_workflow("refund", steps(**CONDITIONS, complete_within="1s", finish_within="7s", poll="500ms",
                                    verify={"method": "GET", "path": "/refund/${/idempotency_key}/${/results/charge/id}"}),
                    on_failure="compensate")
    quick = [cell for cell in POLLED if not cell.startswith("silent")]
    orders = {cell: s.client.submit("refund", {"cell": cell}) for cell in quick}
    wrong = polled_judged(s, shop, orders)
    for cell in POLLED.keys() - orders.keys():  # one at a time: the service stalls meanwhile
        wrong += polled_judged(s, shop, {cell: s.client.submit("refund", {"cell": cell})})
    assert not wrong and not shop.wrong, "\n".join([*wrong, str(shop.wrong)])
    print(f"{len(POLLED)} cells")


class Replaying(StandIn):
    """Answers each key always as it did first, a refusal and a failure too, and counts what stands."""

    def __init__(self, refusal):
        super().__init__()
        self.refusal, self.has_funds, self.saved, self.refunds = refusal, False, {}, []

    def answer(self, call, body):
        key = call.headers["Idempotency-Key"]
        self.saved.setdefault(key, self.act(call.path, key) if key not in self.saved else None)
        return self.saved[key]

    def act(self, path, key):
        if path == "/charge":
            return as_json(200, {"id": "ch_1"})
        if path == "/ship":
            return as_json(422, {})
        if not self.has_funds:
            return self.refusal
        self.refunds.append(key)
        return as_json(200, OK)


REPEAT = ("--step", "charge", "--repeat")


def resume(s, order, *words):
    return s.cluster.tool("order", "resume", order.order_id, *words, "--reason", "the account is full again", check=False)


class Funded(StandIn):
    """De-duplicates refunds by their key and remembers no refusal."""

    def __init__(self):
        super().__init__()
        self.has_funds, self.refunds, self.asked = False, [], []

    def answer(self, call, body):
        key = call.headers.get("Idempotency-Key")
        if call.path != "/refund":
            return as_json(422 if call.path == "/ship" else 200, {})
        self.asked.append(key)
        if self.has_funds and key not in self.refunds:
            self.refunds.append(key)
        return as_json(200 if key in self.refunds else 422, {})


@scenario(agents=0, services=("shop",))
def a_refused_refund_whose_request_comes_again_happens_once(s):
    """Would catch: two refunds, one by the refused request, whose agent lost its ack, and one under the next key."""
    shop = Funded()
    agent = start_agent(s, shop, env={"MAKEGOOD_FAILPOINT": "AGENT_CONFIRMED:3"})
    s.load_workflow("refund", steps(complete_within="60s"), on_failure="compensate")
    order = s.client.submit("refund", {"cell": "x"})
    s.wait_state(order, "error")
    s.wait(lambda: not agent.is_running(), "the agent dies before its ack")
    refused = resume(s, order, *REPEAT)
    assert refused.returncode != 0 and "an earlier attempt may still act" in refused.stderr, refused
    assert resume(s, order).returncode == 0
    shop.has_funds = True
    s.cluster.agents.remove(agent)
    start_agent(s, shop)
    s.wait_state(order, "compensated")
    assert shop.refunds == [f"{order.order_id}.charge.undo"] == shop.asked[1:], shop.asked


@scenario(agents=0, services=("shop",), long="alerts, pauses and time-outs pass in real time")
def a_refused_refund_goes_out_again_although_the_service_remembers_its_refusal(s):
    """Would catch: a refund that a mended service refuses for ever, since it replays the first answer to the key."""
    cells = {"status": (as_json(400, WORDS), {}), "body": (as_json(200, FAILED), CONDITIONS), "doubt": (as_json(500, WORDS), {})}
    shop = Replaying(None)
    start_agent(s, shop)
    for name, (refusal, undo) in cells.items():
        shop.refusal, shop.has_funds, shop.refunds = refusal, False, []
        s.load_workflow(name, steps(**undo), on_failure="compensate")
        order = s.client.submit(name, {"cell": name})
        s.wait_state(order, "error")
        s.wait(lambda: "resume --repeat --step charge" in s.cluster.tool("order", "explain", order.order_id).stdout,
               "explain proposes another key", 60)
        shop.has_funds = True
        assert resume(s, order).returncode == 0  # it keeps the key
        s.wait_state(order, "compensating")
        s.wait_state(order, "error")
        assert not shop.refunds, shop.refunds
        s.wait(lambda: resume(s, order, *REPEAT).returncode == 0, "no copy of the last request can come any more", 60)
        s.wait_state(order, "compensated")
        assert shop.refunds == [f"{order.order_id}.charge.undo.1"], shop.refunds


JSON_503 = json.dumps({"message": "Service Unavailable"}).encode()
GIVEN_UP = {
    "router": (503, "text/html", b"<!DOCTYPE html><html><title>Application error</title></html>", {}),
    "server": (500, "text/html", b"<html>The request timed out.</html>", {}),
    "mesh": (503, "text/plain", b"upstream connect error or disconnect/reset before headers", {}),
    "empty": (500, "text/plain", b"", {}),
    "firewall": (403, "text/html", b"<html><title>403 Forbidden</title></html>", {}),
    "cloud": (599, "application/json", JSON_503, {}),
    "own": (503, "application/json", JSON_503, {}),  # by a rule of the service file
}


class GivenUp(StandIn):
    """A proxy answers each charge at once; the service, which does not de-duplicate, charges a second later."""

    def __init__(self):
        super().__init__()
        self.book, self.charges = threading.Lock(), {}

    def answer(self, call, body):
        cell = json.loads(body)["cell"] if body else call.path.rsplit("/", 1)[1]
        if call.path == "/charge":
            threading.Timer(1.0, self.act, (cell,)).start()
            return GIVEN_UP[cell.partition("-")[0]]
        if call.path == "/ship":
            return as_json(422, {})
        with self.book:
            count = self.charges.get(cell, 0)
            if call.path == "/refund":
                self.charges[cell] = 0
        return as_json(200, {"id": "ch_1"}) if count else as_json(404, {})

    def act(self, cell):
        with self.book:
            self.charges[cell] = self.charges.get(cell, 0) + 1


@scenario(agents=0, services=("shop", "stall"), long="alerts, pauses and time-outs pass in real time")
def no_undo_and_no_verify_overtakes_a_do_that_a_proxy_has_given_up(s):
    """Would catch: a charge that stands, or is made twice, since a proxy's 503 or page counted as the answer of the service."""
    shop = GivenUp()
    start_agent(s, shop, answers={"503": {"outcome": "unknown"}})
    start_agent(s, shop, name="stall")
    orders = {}
    for policy, attempts in (("retry", 1), ("verify", 3)):
        for cell in GIVEN_UP:
            service = "shop" if cell == "own" else "stall"
            charge, ship = steps(retry={"attempts": 1})
            body = {"cell": "${/payload/cell}"}
            charge.update(service=service, complete_within="3s", on_unknown=policy, retry={"attempts": attempts, "backoff": "20ms"},
                          do={"method": "POST", "path": "/charge", "body": body},
                          verify={"method": "GET", "path": "/charges/${/payload/cell}"})
            s.load_workflow(f"{policy}-{cell}", [charge, {**ship, "service": service, "do": {**ship["do"], "body": body}}], on_failure="compensate")
            orders[f"{cell}-{policy}"] = s.client.submit(f"{policy}-{cell}", {"cell": f"{cell}-{policy}"})
    for cell, order in orders.items():
        s.wait_state(order, "compensated")
    assert shop.charges == dict.fromkeys(orders, 0), shop.charges
