"""A sample of the matrix's table e against real servers: each verb of an operator out of a doubt, by policy and by truth, at a service
that does not de-duplicate. All cells of the table are in tests/unit/test_core_verbs.c."""

import itertools
import json

from harness import scenario, step
from test_reach import StandIn, as_json

POLICIES = {"verify": {"on_unknown": "verify"}, "operator": {"on_unknown": "operator"},
            "once": {"on_unknown": "operator", "at_most_once": True, "retry": {"attempts": 1}}}
WHY = ("--reason", "a cell of the matrix")
VERBS = {
    "resume": ("resume",),
    "repeat": ("resume", "--step", "charge", "--repeat"),
    "settle": ("settle", "--step", "charge", "--outcome"),  # by the truth
    "skip": ("skip", "--step", "charge"),
    "compensate": ("compensate",),
    "cancel": ("cancel",),
    "restart": ("restart",),
}
ENDED = ("processed", "compensated", "cancelled")


class Mint(StandIn):
    """Each charge is an effect of its own, whatever its key. The first call of a cell has no answer, and acts or not."""

    def __init__(self):
        super().__init__()
        self.standing, self.doubled, self.called = {}, set(), set()  # by cell
        self.is_blind = True  # to verifies

    def act(self, cell):
        self.doubled |= {cell} if self.standing.get(cell) else set()
        self.standing[cell] = self.standing.get(cell, 0) + 1

    def answer(self, call, body):
        if call.path == "/ship":
            return as_json(200, {})
        if call.path.startswith("/of/"):
            is_there = self.standing.get(call.path[len("/of/"):], 0) > 0
            return as_json(503, {}) if self.is_blind else as_json(200 if is_there else 404, {})
        cell = json.loads(body)["cell"]
        if call.path == "/refund":
            return as_json(200 if self.standing.pop(cell, 0) else 404, {})
        is_first = cell not in self.called
        self.called.add(cell)
        if not is_first or cell.split("-")[1] == "acted":
            self.act(cell)
        return None if is_first else as_json(200, {"id": cell})


def charge_of(policy):
    few = {"attempts": 3, "backoff": "50ms", "max_backoff": "200ms"}
    fields = {"complete_within": "1s", "retry": few, **POLICIES[policy]}
    charge = step("charge", "mint", do={"method": "POST", "path": "/charge", "body": {"cell": "${/payload/cell}"}}, **fields)
    charge["verify"] = {"method": "GET", "path": "/of/${/payload/cell}"}
    charge["undo"] = {"method": "POST", "path": "/refund", "body": {"cell": "${/payload/cell}"}}
    return charge


def say(s, mint, cell, order, verb):
    """The operator's verb, once no earlier attempt may act any more; a refusal changes nothing."""
    def done():
        words = VERBS[verb] + (("done" if mint.standing.get(cell) else "absent",) if verb == "settle" else ())
        result = s.cluster.tool("order", words[0], order.order_id, *words[1:], *WHY, check=False)
        return None if "an earlier attempt may still act" in result.stderr else result
    return s.wait(done, f"{cell}: the verb is judged", 60)


def end(s, mint, orders):
    """Whatever still waits for a person is settled by the truth."""
    def are_ended():
        open_ones = {cell: order for cell, order in orders.items() if s.state(order) not in ENDED}
        for cell, order in open_ones.items():
            if s.state(order) == "error" or s.step_state(order, "charge") == "unknown":
                say(s, mint, cell, order, "settle")
        return not open_ones
    s.wait(are_ended, "each order has ended by a verb", 120)


def judge(mint, cell, state, charge):
    standing = mint.standing.get(cell, 0)
    assert cell not in mint.doubled or cell.endswith("-repeat"), f"{cell}: charged behind a charge that stood"
    if state != "processed":
        assert standing == 0, f"{cell}: it is {state}, and {standing} effects stand"
    assert charge != "done" or standing >= 1, f"{cell}: done, and nothing stands"


@scenario(agents=0, services=("mint",), long="each verb runs, and its answers are compared with their schemas")
def each_verb_out_of_a_doubt_keeps_to_its_policy(s):
    """Would catch: a verb that doubles a charge whose policy forbids it, one that calls undone what stands, and one without a way on."""
    mint = Mint()
    path = s.scratch / "service-mint.json"
    path.write_text(json.dumps({"service": "mint", "url": mint.url, "tries": 1, "breaker": {"min_calls": 1000000}}), encoding="utf-8")
    s.cluster.agents.append(s.cluster.make("agent", "agent-mint", "--service", path))
    s.cluster.agents[-1].start().wait_ready()
    ship = step("ship", "mint", after=["charge"], do={"method": "POST", "path": "/ship", "body": {}})
    for policy in POLICIES:
        s.load_workflow(policy, [charge_of(policy), ship])
    cells = ["-".join(words) for words in itertools.product(POLICIES, ("acted", "silent"), VERBS)]
    orders = {cell: s.client.submit(cell.split("-")[0], {"cell": cell}) for cell in cells}
    for order in orders.values():
        s.wait(lambda order=order: s.step_state(order, "charge") == "unknown", "the charge is in doubt")
    said = {cell: say(s, mint, cell, order, cell.split("-")[2]).returncode for cell, order in orders.items()}
    mint.is_blind = False
    end(s, mint, orders)
    for cell, order in orders.items():
        judge(mint, cell, s.state(order), s.step_state(order, "charge"))
    assert said["once-acted-repeat"] != 0 and said["operator-acted-repeat"] == 0 and "operator-acted-repeat" in mint.doubled, said
    print(f"{len(cells)} cells, {sum(code == 0 for code in said.values())} verbs taken")
