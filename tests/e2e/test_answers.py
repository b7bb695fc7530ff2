"""The tool's JSON: each verb's answer has its types, and a schema that describes it."""

import json

import answers
from harness import scenario, step

ELSEWHERE = {"agent test", "client test"}  # which need a broker without schedulers: test_agent_test.py, test_client_test.py
FOREVER = {"agents", "console", "dev", "gateway", "bulk run"}  # they run until a signal ends them, and print no answer
WHY = ("--reason", "the test wants it")


class Asking:
    """Runs verbs in one form, and compares each answer with its schema."""

    def __init__(self, stage, form):
        self.stage, self.form, self.asked, self.wrong = stage, form, set(), []

    def __call__(self, verb, *words, codes=(0,), env=None):
        done = self.stage.cluster.tool(*verb.split(), *words, "-o", self.form, check=False, env=env)
        self.asked.add(verb)
        assert done.returncode in codes, (verb, words, done)
        try:
            found = answers.faults(verb, done.stdout, self.form == "jsonl")
        except (ValueError, KeyError) as error:
            found = [repr(error)]
        self.wrong += [f"{verb} {' '.join(map(str, words))} -o {self.form}: {fault}" for fault in found]
        lines = [json.loads(line) for line in done.stdout.split("\n")[:-1]] if self.form == "jsonl" else None
        if lines is None:
            return json.loads(done.stdout)
        return lines if answers.is_list(verb) else lines[0]


def fail(s, count):
    """Orders that wait for an operator."""
    s.remote("payment").switch("decline")
    orders = [s.client.submit("stops", {"n": n}) for n in range(count)]
    for order in orders:
        s.wait_state(order, "error")
    s.remote("payment").switch("order")
    return [order.order_id for order in orders]


def set_aside(s):
    """A dead letter, and a submission that was rejected."""
    s.client.publish(b"not a reply", "scheduler.replies", "makegood.replies", type="reply")
    s.client.publish(b"no submission \xff", message_id="m-1", type="submission")
    s.wait(lambda: s.client.depth("dead.letters") > 0 and s.client.depth("orders.rejected") > 0, "both are set aside")


def definition_ask(s, ask, flow):
    cases = s.scratch / "cases.json"
    cases.write_text(json.dumps({"workflow": "stops", "cases": [{
        "case": "it is paid", "payload": {"price": 14}, "answers": {"charge": [{"status": 201, "body": {}}]}, "expect": {"end": "processed"}}]}),
                     encoding="utf-8")
    ask("workflow test", flow, cases)
    ask("workflow simulate", flow, "--orders", "100", "--refuse", "charge=50%", "--down", "payment=0s..1h", "--stop-after", "1m")
    ask("workflow simulate", flow, "--explore", "--never", "end == 'processed'", codes=(1,))
    ask("workflow describe", flow)
    ask("workflow diff", flow, flow)


def orders_ask(s, ask, ids):
    path, lost, flow = s.scratch / "one.json", s.scratch / "lost.json", s.scratch / "workflow-stops.json"
    path.write_text('{"order_id": "digits-%s", "workflow": "stops", "payload": {"price":\n14.00}}' % ask.form, encoding="utf-8")
    lost.write_text(json.dumps({"workflow": "no-such-workflow", "payload": {}}), encoding="utf-8")
    ask("workflow check", flow)
    ask("workflow load", flow)
    assert [row["name"] for row in ask("workflow list")] == ["stops"]
    definition_ask(s, ask, flow)
    ask("order submit", path)
    assert [end["status"] for end in ask("order submit", path, "--wait")] == ["processed"]
    assert [end["status"] for end in ask("order submit", lost, "--wait", codes=(1,))] == ["rejected"]
    assert {row["state"] for row in ask("order list", "--state", "error")} == {"error"}
    assert [row["order_id"] for row in ask("order list", "--step", "charge", "--limit", "1")]
    assert ask("order list", "--group-by", "error")[0]["count"] == len(ids)
    unknown = s.cluster.tool("order", "list", "--workflow", "stop", "-o", ask.form, check=False)
    assert (unknown.returncode, unknown.stdout) == (3, "") and 'did you mean "stops"?' in unknown.stderr, unknown
    assert [row["order_id"] for row in ask("order find", ids[0])] == [ids[0]]
    none = s.cluster.tool("order", "find", "none", "-o", ask.form, check=False)
    assert (none.returncode, none.stdout) == (3, ""), none
    ask("order explain", ids[0])
    calls = ask("order calls", ids[0], "charge")
    assert calls["requests"][0]["is_proved"] and calls["attempts"][0]["kind"] == "do", calls
    shown, whole = ask("order show", ids[0]), ask("order export", ids[0])
    assert {**whole, "exported_at": 0} == {name: shown[name] for name in whole} | {"exported_at": 0}, (whole, shown)
    ask("order settle", ids[0], "--step", "charge", "--outcome", "done", *WHY)
    ask("order skip", ids[1], "--step", "charge", *WHY)
    for verb, order_id in zip(("restart", "resume", "compensate", "cancel"), ids[2:]):
        assert ask("order " + verb, order_id, *WHY)["version"] > 1
    assert [ask(f"order {verb}", "o-none", *WHY)["set_aside"] for verb in ("set-aside", "readmit")] == [True, False]
    s.wait(lambda: s.rows("SELECT process_state AS state FROM order_process WHERE order_id = %s", ids[4])[0]["state"] == "compensated",
           "it is compensated")
    events = ask("order watch", ids[4])
    assert events[-1]["state"] == "compensated" and events[0]["version"] == 1, events


def signals_ask(s, ask):
    """An order that waits for an event of its key, and another of its line that waits for its turn."""
    wait = {"signal": "paid", "key": "payload.key", "within": "2m"}
    s.load_workflow("awaits", [{"step": "await", "wait": wait}, step("charge", "payment", after=["await"])], on_failure="error",
                    sequence={"key": "${/payload/line}", "on_error": "hold"})
    first, failed, last = [s.client.submit("awaits", {"key": f"k-{n}", "line": "one"}) for n in range(3)]
    s.wait_step(first, "await", "waiting")
    assert ask("order signal", first.order_id, "paid", *WHY)["signal"] == "taken"
    s.wait_state(first, "processed")
    s.wait_step(failed, "await", "waiting")
    s.remote("payment").switch("decline")
    assert ask("signal send", "paid", "--key", "k-1", *WHY)["signal"] == "taken"
    s.wait_state(failed, "error")
    s.remote("payment").switch("order")
    ask("order release", failed.order_id, *WHY)
    s.wait_step(last, "await", "waiting")


def schedules_ask(s, ask):
    path = s.scratch / "schedule.json"
    path.write_text(json.dumps({"schedule": "nightly", "workflow": "stops", "cron": "0 2 * * *", "zone": "UTC",
                                "payload": {"price": 14}}), encoding="utf-8")
    assert [row["verdict"] for row in ask("schedule load", path, *WHY)] == ["loaded"]
    assert [row["schedule"] for row in ask("schedule list")] == ["nightly"]
    ask("schedule pause", "nightly", *WHY)
    ask("schedule resume", "nightly", *WHY)
    ask("schedule run", "nightly", *WHY)
    ask("schedule backfill", "nightly", "--since", "2d", *WHY)
    assert ask("schedule show", "nightly")["schedule"]["schedule"] == "nightly"
    ask("schedule delete", "nightly", *WHY)


def services_ask(s, ask):
    s.rows("INSERT INTO service_control (service, is_paused, version, reason, by_whom) VALUES ('gone', false, 1, 'x', 'x') RETURNING 1")
    ask("service pause", "payment", "--for", "1h", *WHY)
    assert [row["paused_until"] is None for row in ask("service list") if row["service"] in ("gone", "payment")] == [True, False]
    ask("service show", "payment")
    ask("service resume", "payment", *WHY)
    ask("service limit", "payment", "--concurrency", "4", "--rate", "0.5", *WHY)
    assert [row["rate_per_s"] for row in ask("service list") if row["service"] == "payment"] == [0.5]
    ask("service limit", "payment", "--concurrency", "none", "--rate", "none", *WHY)
    ask("service forget", "gone", *WHY)
    audit_ask(s, ask)


def audit_ask(s, ask):
    """A sample service keeps each promise."""
    path = s.scratch / "audited.json"
    path.write_text(json.dumps({"service": "payment", "url": "http://127.0.0.1:1"}), encoding="utf-8")
    words = (s.remote("payment").url + "/charges", "--service", path, "--payload", '{"amount": 14.00}')
    found = ask("service test", *words)
    assert {each["verdict"] for each in found["promises"]} == {"kept"}, found
    ask("service test", *words, "--dry-run")


def bulk_ask(ask):
    assert ask("bulk start", "resume", "--step", "charge", "--dry-run")["orders"] > 0
    bulk_id = ask("bulk start", "resume", "--step", "charge", *WHY)["bulk_id"]
    assert ask("bulk show", bulk_id)["bulk"] == ask("bulk list", "--limit", "1")[0]
    for verb in ("pause", "resume", "stop"):
        ask("bulk " + verb, bulk_id, *WHY)
    ask("bulk list")


def system_ask(s, ask, deployer):
    alert_id = s.rows("SELECT min(alert_id) AS least FROM operator_alert WHERE closed_at IS NULL AND acked_at IS NULL")[0]["least"]
    ask("alert list")
    ask("alert causes")
    ask("alert ack", alert_id, *WHY)
    assert ask("audit", "--limit", "1")[0]["verb"] == "alert ack"
    ask("alert list", "--all")
    for queue in ("dead.letters", "orders.rejected"):
        set_aside(s)
        first = ask("dead list", "--queue", queue)[0]
        assert ask("dead show", first["number"], "--queue", queue)["body"] == first["body"]
        ask("dead drop", "1", "--queue", queue, *WHY)
    set_aside(s)
    ask("dead requeue", "--all", *WHY)
    ask("broker apply", "--service", "payment", env=deployer)
    ask("broker check", "--service", "payment", env=deployer)
    ask("db migrate", "--migrations", s.cluster.migrations, env=deployer)
    assert ask("db status")["schema_version"] > 0
    ask("db vacuum-policy")
    assert ask("db vacuum-policy", "--hot", "7d", "--keep", "none", *WHY)["hot_ms"] == 7 * 86400 * 1000
    ask("db retain", env=deployer)
    assert {finding["check"] for finding in ask("doctor", codes=(0, 1))} >= {"database", "schema", "clock", "broker"}
    assert [leader["holder"] != "" for leader in ask("top")["leader"]] == [True]
    assert ask("probe", "http://127.0.0.1:1/", codes=(6,))["status"] == 0


def verbs_of_help(s):
    """The verbs that the tool's own pages say to print JSON, with their forms and a description: a start for each verb."""
    known = answers.verbs(lambda *words: s.cluster.tool(*words).stdout)
    return {verb: told for verb, told in known.items() if verb not in FOREVER and "json" in told[0]}


def ask_all(s, form):
    """Asks every verb that has a schema."""
    s.load_workflow("stops", [step("charge", "payment")], on_failure="error", output={"paid": "${/payload/price}"})
    ask = Asking(s, form)
    orders_ask(s, ask, fail(s, 8))
    signals_ask(s, ask)
    schedules_ask(s, ask)
    services_ask(s, ask)
    bulk_ask(ask)
    system_ask(s, ask, s.cluster.env_of("deployer", "owner"))
    known = answers.verbs_with_schema() - ELSEWHERE
    assert ask.asked == known, f"differ: {ask.asked ^ known}"
    assert not ask.wrong, "\n".join(ask.wrong)
    s.expects_open_orders = True


@scenario(services=("payment",), long="each verb runs, and its answers are compared with their schemas")
def each_verb_prints_json_by_its_schema(s):
    """Would catch: a number, a boolean or a moment as SQL's text; a verb or a member that no schema describes; an answer that is not
    one document."""
    ask_all(s, "json")
    known = verbs_of_help(s)
    assert len(known) > 40 and set(known) == answers.verbs_with_schema(), set(known) ^ answers.verbs_with_schema()
    for verb, (_forms, told) in known.items():
        assert ("one array" in told) == answers.is_list(verb), (verb, told)
    ended = s.cluster.tool("order", "submit", s.scratch / "one.json", "--wait", "-o", "json").stdout
    assert '14.00' in ended and json.loads(ended)[0]["output"] == {"paid": 14.0}, ended  # as the scheduler sent it
    assert '{"price":\n14.00}' in s.cluster.tool("order", "show", "digits-json", "-o", "json").stdout


@scenario(services=("payment",), long="each verb runs, and its answers are compared with their schemas")
def each_verb_prints_a_line_for_each_object(s):
    """Would catch: an answer of two lines, by a line end in a payload or a definition; two answers in one line."""
    ask_all(s, "jsonl")
    assert '{"price": 14.00}' in s.cluster.tool("order", "show", "digits-jsonl", "-o", "jsonl").stdout
