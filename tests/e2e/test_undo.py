"""An undo proves what a do proves: each kind of answer to it, against the real agent."""

import json

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


def start_agent(s, shop):
    """Its breaker stays closed: most cells are failures."""
    path = s.scratch / "service-shop.json"
    path.write_text(json.dumps({"service": "shop", "url": shop.url, "tries": 1, "breaker": {"min_calls": 1000000}}), encoding="utf-8")
    s.cluster.agents.append(s.cluster.make("agent", "agent-shop", "--service", path))
    s.cluster.agents[-1].start().wait_ready()


def steps(**undo):
    few = {"attempts": 3, "backoff": "20ms", "max_backoff": "20ms"}
    charge = step("charge", "shop", complete_within="3s", do={"method": "POST", "path": "/charge", "body": {}})
    charge["undo"] = {"method": "POST", "path": "/refund", "body": {"cell": "${/payload/cell}"}, "retry": few, **undo}
    return [charge, step("ship", "shop", after=["charge"], do={"method": "POST", "path": "/ship", "body": {}})]


@scenario(agents=0, services=("shop",))
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


@scenario(agents=0, services=("shop",))
def an_undo_without_conditions_is_judged_by_its_status(s):
    """Would catch: a definition of earlier versions that changes its meaning."""
    shop = Refunds()
    start_agent(s, shop)
    s.load_workflow("plain", steps(), on_failure="compensate")
    for cell in ("ok", "failed", "pending", "202 ok", "202 empty, ok", "204"):
        order = s.client.submit("plain", {"cell": cell})
        s.wait_state(order, "compensated")
        assert (s.step_state(order, "charge"), shop.undone[cell]) == ("undone", 1), (cell, shop.undone)
