"""The possible results of a step, and their consequences for its order."""

import http.server
import threading

from harness import scenario, step


def one_try(_name, service):
    """One HTTP call per attempt, so that the scheduler sees each failure; a breaker that never opens."""
    service["tries"] = 1
    service["breaker"] = {"min_calls": 100000}
    return service


@scenario(edit_service=one_try)
def a_step_that_fails_for_a_while_is_tried_again(s):
    """Would catch: a transient failure that is final, or one that costs a second effect."""
    s.load_workflow("flaky", [step("charge", "payment")])
    order = s.client.submit("flaky", {"behaviour": "unavailable:2"})
    s.client.wait_status(order, "processed")
    row = s.step(order, "charge")
    assert row["attempt"] == 3 and row["state"] == "done", row
    assert s.effect(order, "charge", "payment")["effects"] == 1
    assert s.process(order)["failure_count"] == 2


@scenario(long="others of its kind are quick")
def a_wait_that_a_remote_asks_for_is_kept(s):
    """Would catch: Retry-After ignored."""
    s.load_workflow("busy", [step("charge", "payment", complete_within="30s")])
    order = s.client.submit("busy", {"behaviour": "too-many:1"})
    s.client.wait_status(order, "processed")
    assert s.effect(order, "charge", "payment")["effects"] == 1


@scenario()
def a_refused_step_has_the_steps_before_it_undone_in_reverse_order(s):
    """Would catch: undone steps missing, in the wrong order, or an undo of a step that never happened."""
    order = s.client.submit(payload={"behaviour": {"carrier": "decline"}})
    s.client.wait_status(order, "compensated")
    words = [message["status"] for message in s.client.statuses(order.order_id)]
    assert words == ["accepted", "compensating", "compensated"], words
    s.assert_effects(order, {("reserve", "inventory"): "undone", ("charge", "payment"): "undone", ("ship", "carrier"): "none"})
    reserve, charge = s.effect(order, "reserve", "inventory"), s.effect(order, "charge", "payment")
    assert charge["undone_at_ms"] <= reserve["undone_at_ms"], "the later step must be undone first"


@scenario(edit_service=one_try)
def a_step_that_expires_is_repeated_with_the_same_key(s):
    """Would catch: a silent remote that stops an order for ever, or a repeat under another key."""
    s.load_workflow("silent", [step("charge", "payment", complete_within="1s")])
    order = s.client.submit("silent", {"behaviour": "silent:1"})
    s.client.wait_status(order, "processed")
    assert s.step(order, "charge")["attempt"] >= 2
    keys = [key for key in s.remote("payment").entries() if key.startswith(order.order_id)]
    assert keys == [f"{order.order_id}.charge.do"], keys


@scenario(edit_service=one_try)
def a_step_whose_attempts_are_used_up_cools_down_and_goes_on(s):
    """Would catch: a cool-down that never ends, or attempts that are not counted anew after it."""
    s.load_workflow("tired", [step("charge", "payment", retry={
        "attempts": 2, "backoff": "20ms", "max_backoff": "50ms", "cool_down": "1500ms", "cool_downs": 1})])
    order = s.client.submit("tired", {"behaviour": "unavailable:3"})
    s.wait(lambda: (s.step(order, "charge") or {}).get("reason") == "cooling_down", "the step cools down")
    s.client.wait_status(order, "processed")
    row = s.step(order, "charge")
    assert row["attempt"] == 4 and row["cool_down_count"] == 1, row


@scenario(edit_service=one_try)
def a_step_that_exhausts_its_attempts_turns_its_order_back(s):
    """Would catch: attempts without end, or an order that forgets its finished steps."""
    s.load_workflow("hopeless", [step("reserve", "inventory"), step("charge", "payment", after=["reserve"])])
    order = s.client.submit("hopeless", {"behaviour": {"payment": "unavailable"}})
    s.client.wait_status(order, "compensated")
    s.assert_effects(order, {("reserve", "inventory"): "undone"})
    assert s.effect(order, "charge", "payment")["effects"] == 0
    assert s.step(order, "charge")["attempt"] >= 3


@scenario()
def an_order_past_its_own_time_is_turned_back(s):
    """Would catch: an order without an end because each of its steps is on time."""
    s.load_workflow("late", [step("reserve", "inventory"),
                             step("charge", "payment", after=["reserve"], complete_within="2s",
                                  retry={"attempts": 1000, "backoff": "100ms", "max_backoff": "200ms"})],
                    complete_within="3s")
    order = s.client.submit("late", {"behaviour": {"payment": "unavailable"}})
    s.client.wait_status(order, "compensated")
    s.assert_effects(order, {("reserve", "inventory"): "undone"})
    assert s.process(order)["reason"] == "order_expired", s.process(order)


@scenario(edit_service=one_try)
def an_unknown_step_is_verified_before_anything_else(s):
    """Would catch: a do that is sent again although verify would have shown its effect."""
    s.load_workflow("doubt", [step("charge", "payment", verify=True, on_unknown="verify")])
    order = s.client.submit("doubt", {"behaviour": "drop:1"})
    s.client.wait_status(order, "processed")
    entry = s.effect(order, "charge", "payment")
    assert entry["effects"] == 1 and entry["do_requests"] == 1 and entry["get_requests"] >= 1, entry


@scenario(edit_service=one_try, long="others of its kind are quick")
def an_unknown_step_that_verify_finds_absent_is_done_then(s):
    """Would catch: a step given up, or taken for done, because a request was lost."""
    s.load_workflow("absent", [step("charge", "payment", verify=True, on_unknown="verify", complete_within="1s")])
    order = s.client.submit("absent", {"behaviour": "silent:1"})
    s.client.wait_status(order, "processed")
    entry = s.effect(order, "charge", "payment")
    assert entry["effects"] == 1 and entry["get_requests"] >= 1, entry


class ForgetfulBank(http.server.BaseHTTPRequestHandler):
    """Executes the first try and hangs up, refuses every later one, and undoes. The sample remote never does this, because it
    repeats its first answer for a known key."""

    seen = []

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append("refused" if "executed" in self.seen else "executed")
        if self.seen[-1] == "executed":
            self.close_connection = True
            return
        self.answer(422)

    def do_DELETE(self):
        self.seen.append("undone")
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_words):
        pass


def forgetful_payment(name, service):
    one_try(name, service)
    if name == "payment":
        bank = http.server.ThreadingHTTPServer(("127.0.0.1", 0), ForgetfulBank)
        threading.Thread(target=bank.serve_forever, daemon=True).start()
        service["url"] = f"http://127.0.0.1:{bank.server_port}"
    return service


@scenario(edit_service=forgetful_payment, long="each answer, right or argument in turn")
def a_step_that_happened_and_was_then_refused_is_undone_all_the_same(s):
    """Would catch: a maybe that a later refusal clears (law 10, sticky maybe)."""
    s.load_workflow("sticky", [step("charge", "payment")])
    order = s.client.submit("sticky", {"n": 1})
    s.client.wait_status(order, "compensated")
    assert ForgetfulBank.seen == ["executed", "refused", "undone"], (ForgetfulBank.seen, s.story(order))


@scenario(long="graces, elections and patience pass in real time")
def a_service_that_is_down_longer_than_complete_within_costs_no_attempt(s):
    """Would catch: an outage that is counted as failures of the orders."""
    s.load_workflow("outage", [step("charge", "payment", complete_within="2s", retry={
        "attempts": 2, "backoff": "50ms", "max_backoff": "100ms"})])
    s.remote("payment").process.kill()
    before = [s.client.submit("outage", {"n": n}) for n in range(30)]
    s.wait(lambda: s.rows("SELECT 1 FROM service_state WHERE service = 'payment' AND breaker = 'open'"), "the breaker is open")
    since = s.rows("SELECT clock_timestamp() AS at")[0]["at"]
    order = s.client.submit("outage", {"n": 99})
    s.wait_step(order, "charge", "waiting")
    s.wait(lambda: s.rows("SELECT clock_timestamp() > %s + interval '5 s' AS past", since)[0]["past"], "5 s have passed")
    assert s.step_state(order, "charge") == "waiting" and s.process(order)["failure_count"] == 0
    s.remote("payment").start()
    for each in before + [order]:
        s.client.wait_status(each, "processed")
    assert s.process(order)["failure_count"] == 0


@scenario()
def accepted_work_is_asked_after_until_it_is_done(s):
    """Would catch: a 202 taken for done, a message held for as long as the remote works, or polling without end."""
    s.load_workflow("patient", [step("ship", "carrier", verify=True, complete_within="1s", finish_within="30s"),
                                step("charge", "payment", after=["ship"])])
    order = s.client.submit("patient", {"behaviour": {"carrier": "accept:2500"}})
    s.wait(lambda: (s.step(order, "ship") or {}).get("is_accepted"), "the step is accepted")
    assert s.step_state(order, "charge") in (None, "pending")
    s.client.wait_status(order, "processed")
    entry = s.effect(order, "ship", "carrier")
    assert entry["effects"] == 1 and entry["do_requests"] == 1 and entry["get_requests"] >= 1, entry
    assert s.effect(order, "charge", "payment")["done_at_ms"] >= entry["ready_at_ms"], "charged before the shipment was ready"


@scenario()
def after_its_pivot_an_order_only_goes_forward(s):
    """Would catch: the point of no return undone."""
    s.load_workflow("pivot", [step("reserve", "inventory"), step("charge", "payment", after=["reserve"], pivot=True),
                              step("ship", "carrier", after=["charge"])])
    s.remote("carrier").switch("decline")
    order = s.client.submit("pivot", {"n": 1})
    s.wait_state(order, "error")
    s.assert_effects(order, {("reserve", "inventory"): "done", ("charge", "payment"): "done"})
    refused = s.cluster.tool("order", "cancel", order.order_id, "--reason", "changed my mind", check=False)
    assert refused.returncode == 4, refused
    s.remote("carrier").switch("order")
    s.cluster.tool("order", "resume", order.order_id, "--reason", "the carrier has been called")
    s.wait_state(order, "processed")
    s.assert_effects(order, {("reserve", "inventory"): "done", ("charge", "payment"): "done"})


@scenario(long="the simulator plays it with every seed")
def a_parallel_step_that_still_runs_when_its_sibling_fails_is_undone_after_it_ended(s):
    """Would catch: an undo that overtakes its do, or a sibling's effect that is left behind."""
    s.load_workflow("fork", [step("reserve", "inventory"), step("charge", "payment")])
    order = s.client.submit("fork", {"behaviour": {"inventory": "slow:1500", "payment": "decline"}})
    s.client.wait_status(order, "compensating")
    s.client.wait_status(order, "compensated")
    s.assert_effects(order, {("reserve", "inventory"): "undone"})
    entry = s.effect(order, "reserve", "inventory")
    assert entry["done_at_ms"] <= entry["undone_at_ms"]


@scenario()
def independent_steps_run_at_the_same_time(s):
    """Would catch: a workflow that is always a list."""
    s.load_workflow("wide", [step("reserve", "inventory"), step("charge", "payment"),
                             step("ship", "carrier", after=["reserve", "charge"])])
    order = s.client.submit("wide", {"behaviour": {"inventory": "slow:1500", "payment": "slow:1500"}})
    s.client.wait_status(order, "processed")
    reserve, charge = s.effect(order, "reserve", "inventory"), s.effect(order, "charge", "payment")
    assert abs(reserve["first_seen_at_ms"] - charge["first_seen_at_ms"]) < 1000, (reserve, charge)
    assert s.effect(order, "ship", "carrier")["first_seen_at_ms"] >= max(reserve["done_at_ms"], charge["done_at_ms"])


@scenario()
def an_order_cancelled_in_the_middle_is_undone(s):
    """Would catch: a cancel that leaves effects, or one that overtakes running steps."""
    order = s.client.submit(payload={"behaviour": {"carrier": "slow:2000"}})
    s.wait_step(order, "ship", "running")
    s.cluster.tool("order", "cancel", order.order_id, "--reason", "the customer called")
    s.client.wait_status(order, "cancelled")
    s.assert_effects(order, {("reserve", "inventory"): "undone", ("charge", "payment"): "undone"})
    assert s.effect(order, "ship", "carrier")["state"] in ("undone", "cancelled", "none")


@scenario(schedulers=2)
def an_order_that_moves_fast_is_cancelled_at_the_first_try(s):
    """Would catch: a cancel that is refused because the order went on between the look and the command."""
    s.load_workflow("moves", [step(f"s{n}", "payment", after=[f"s{n - 1}"] if n else []) for n in range(60)])
    order = s.client.submit("moves", {"behaviour": {"payment": "slow:100"}})
    s.wait_step(order, "s1", "done")
    done = s.cluster.tool("order", "cancel", order.order_id, "--reason", "the customer called")
    assert "compensating" in done.stdout or "cancelled" in done.stdout, done.stdout
    s.client.wait_status(order, "cancelled")


@scenario(edit_service=one_try)
def a_step_sent_at_most_once_is_never_sent_again(s):
    """Would catch: a second send of a step that allows one only; a doubt decided by guessing."""
    s.load_workflow("once", [step("charge", "payment", at_most_once=True, on_unknown="operator", retry={"attempts": 1})])
    order = s.client.submit("once", {"behaviour": "drop:1"})
    s.wait_step(order, "charge", "unknown")
    s.wait(lambda: [row for row in s.alerts("outcome_unknown") if row["order_id"] == order.order_id], "an alert is open")
    assert s.effect(order, "charge", "payment")["do_requests"] == 1
    s.cluster.tool("order", "settle", order.order_id, "--step", "charge", "--outcome", "done", "--reason", "seen at the bank")
    s.wait_state(order, "processed")
    entry = s.effect(order, "charge", "payment")
    assert entry["do_requests"] == 1 and entry["effects"] == 1, entry
    assert all(row["closed_at"] for row in s.alerts("outcome_unknown"))


@scenario(edit_service=one_try)
def a_step_in_doubt_is_sent_again_only_by_the_operators_explicit_word(s):
    """Would catch: a resume of an order that doubles the charge beside the step which failed."""
    doubtful = step("charge", "payment", on_unknown="operator")
    s.load_workflow("beside", [doubtful, step("reserve", "inventory", retry={"attempts": 1})], on_failure="error")
    s.remote("inventory").switch("decline")
    order = s.client.submit("beside", {"behaviour": {"payment": "drop:1"}})
    s.wait_step(order, "charge", "unknown")
    s.wait_state(order, "error")
    explain = s.cluster.tool("order", "explain", order.order_id).stdout
    assert "step charge is unknown, and may have happened" in explain, explain
    assert "it needs an operator: resume, compensate, cancel, settle step charge" in explain, explain
    s.remote("inventory").switch("order")
    s.cluster.tool("order", "resume", order.order_id, "--reason", "the stock is back")
    s.wait_step(order, "reserve", "done")
    assert s.effect(order, "charge", "payment")["do_requests"] == 1
    again = ("order", "resume", order.order_id, "--step", "charge", "--repeat", "--reason", "no charge stands")
    s.wait(lambda: s.cluster.tool(*again, check=False).returncode == 0, "no earlier attempt can act any more")
    s.wait_state(order, "processed")
    assert s.effect(order, "charge", "payment")["do_requests"] == 2
