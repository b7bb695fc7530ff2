"""Schedules: a slot is one order, whoever fires it how often, and a slot without an order is recorded with its reason."""

import json
import pathlib
import time
import zoneinfo

from harness import check_facts, scenario, step

ONE = {"services": ("payment",)}
PAIRS = {**ONE, "schedulers": 2, "supervisors": 2}


def tool(s, *words, check=True):
    done = s.cluster.tool("schedule", *words, "-o", "json", check=check)
    return json.loads(done.stdout) if done.stdout.strip() else done


def load(s, name="nightly", check=True, **members):
    if "every" not in members:
        members = {"cron": "30 2 * * *", "zone": "Europe/Zurich", **members}
    path = s.cluster.scratch / f"{name}.schedule.json"
    path.write_text(json.dumps({"schedule": name, "workflow": "settle", **members}), encoding="utf-8")
    return tool(s, "load", str(path), "--reason", "a test", check=check)


def row(s, name="nightly"):
    return s.rows("SELECT *, extract(epoch FROM next_slot)::bigint AS next_s FROM schedule WHERE name = %s", name)[0]


def runs(s, name="nightly"):
    return s.rows("SELECT *, extract(epoch FROM slot)::bigint AS slot_s FROM schedule_run WHERE name = %s ORDER BY slot", name)


def orders(s):
    return s.rows("SELECT order_id, process_state FROM order_process WHERE workflow = 'settle' ORDER BY created_at")


def make_due(s, ago, name="nightly"):
    """The next slot is the minute that began so many seconds ago, as if nobody had fired it since."""
    s.rows("UPDATE schedule SET next_slot = t, next_at = t, upcoming = ARRAY[t]"
           " FROM (SELECT date_trunc('minute', clock_timestamp() - %s * interval '1 second') AS t) n WHERE name = %s RETURNING 1", ago, name)


def doctor(s):
    return s.cluster.tool("doctor", check=False).stdout


def settle(s, **fields):
    s.load_workflow("settle", [step("charge", "payment")], **fields)


@scenario(**ONE)
def a_slot_that_is_due_becomes_an_order(s):
    """Would catch: a slot that nobody fires, a payload without its slot, a schedule that stays at its slot."""
    settle(s)
    loaded = load(s, payload={"day": "${/slot/date}", "at": "${/slot/at}", "by": "${/schedule}"})
    assert loaded[0]["verdict"] == "loaded" and loaded[0]["version"] == 1, loaded
    assert load(s, payload={"day": "${/slot/date}", "at": "${/slot/at}", "by": "${/schedule}"})[0]["verdict"] == "unchanged"
    next_s = row(s)["next_s"]
    make_due(s, 30)
    slot_s = row(s)["next_s"]
    s.wait(lambda: [order for order in orders(s) if order["process_state"] == "processed"], "the order is processed")
    assert len(orders(s)) == 1, orders(s)
    run = runs(s)[0]
    assert (run["what"], run["slot_s"], run["order_id"]) == ("order", slot_s, orders(s)[0]["order_id"]), run
    payload = json.loads(s.rows("SELECT payload FROM orders")[0]["payload"])
    assert payload["by"] == "nightly" and payload["at"] == time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(slot_s)), payload
    assert row(s)["next_s"] == next_s and len(row(s)["upcoming"]) == 5, row(s)
    shown = tool(s, "show", "nightly")
    assert shown["schedule"]["next_local"].endswith("02:30:00") and shown["runs"][0]["state"] == "processed", shown
    assert [one["schedule"] for one in tool(s, "list")] == ["nightly"]
    story = s.cluster.tool("order", "show", run["order_id"]).stdout
    assert "schedule nightly, slot" in story, story


@scenario(**ONE)
def operators_pause_run_backfill_and_delete_a_schedule(s):
    """Would catch: a paused schedule that fires, a backfill that repeats a slot, a change that overwrites another."""
    settle(s)
    load(s, every="1h", overlap="allow")
    assert "ok    schedules    1, none late, none missed" in doctor(s), doctor(s)
    load(s, "unknown", every="1h", workflow="nothing")
    assert "WRONG schedules    1 of 2 have no workflow, the first is unknown: makegood workflow load the file of nothing" in doctor(s), doctor(s)
    tool(s, "delete", "unknown", "--reason", "a look")
    assert tool(s, "pause", "nightly", "--reason", "a look")["verdict"] == "paused"
    assert "ok    schedules    1 of 1 are paused, the first is nightly" in doctor(s), doctor(s)
    make_due(s, 30 if time.gmtime(time.time() - 30).tm_min > 1 else 180)  # never the full hour, which the backfill below fires
    before = row(s)
    ran = tool(s, "run", "nightly", "--reason", "now")
    s.wait(lambda: len(orders(s)) == 1 and orders(s)[0]["process_state"] == "processed", "the order of the run is processed")
    assert ran["order_id"] == orders(s)[0]["order_id"], ran
    back = tool(s, "backfill", "nightly", "--since", "4h", "--reason", "the outage")
    assert len(back) == 4 and len({one["order_id"] for one in back}) == 4, back
    again = tool(s, "backfill", "nightly", "--since", "4h", "--reason", "the outage")
    assert [one["order_id"] for one in again] == [one["order_id"] for one in back]
    s.wait(lambda: len(orders(s)) == 5 and {order["process_state"] for order in orders(s)} == {"processed"}, "all are processed")
    assert row(s)["next_slot"] == before["next_slot"], "a paused schedule stays at its slot"
    assert tool(s, "show", "nightly")["schedule"]["next_at"] is None, "a moment that passed in the pause never comes"
    assert tool(s, "resume", "nightly", "--reason", "done", "--if-version", "1", check=False).returncode == 4
    resumed = tool(s, "resume", "nightly", "--reason", "done")
    assert resumed["version"] == 3 and resumed["next_at"] > time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), resumed
    assert tool(s, "delete", "nightly", "--reason", "no more")["verdict"] == "deleted"
    assert tool(s, "run", "nightly", "--reason", "now", check=False).returncode == 3
    assert len(orders(s)) == 5 and not s.rows("SELECT FROM schedule_run"), "its orders stay"
    verbs = [action["verb"] for action in s.rows("SELECT verb FROM operator_action WHERE subject = 'nightly' ORDER BY at")]
    assert list(dict.fromkeys(verbs)) == ["schedule load", "schedule pause", "schedule run", "schedule backfill", "schedule resume", "schedule delete"], verbs


def an_old_slot_is_missed_and_counted(s):
    load(s, "missed", every="1m", catch_up="90s")
    make_due(s, 600, "missed")
    s.wait(lambda: [run for run in runs(s, "missed") if run["what"] == "missed"], "the slot is missed")
    s.wait(lambda: [run for run in runs(s, "missed") if run["what"] == "order"], "the newest one is caught up with")
    run = runs(s, "missed")[0]
    assert run["what"] == "missed" and 9 <= run["slots"] <= 10 and "catch_up is 90s" in run["text"], run
    assert row(s, "missed")["skipped"] == run["slots"]
    series = 'makegood_schedule_skipped_total{schedule="missed",why="missed"}'
    assert sum(one.metric(series) or 0 for one in s.cluster.schedulers) == run["slots"]
    s.wait(lambda: s.alerts("schedule_missed") and s.alerts("schedule_missed")[0]["closed_at"], "its alert is opened, and closed by an order")
    tool(s, "delete", "missed", "--reason", "done")


def a_refused_order_is_recorded_and_asked_for_once(s):
    load(s, "refused", every="1h", payload={"amount": "much"})
    make_due(s, 30, "refused")
    s.wait(lambda: runs(s, "refused"), "the slot is recorded")
    run = runs(s, "refused")[0]
    assert run["what"] == "refused" and "/amount" in run["text"] and run["order_id"] is None, run
    assert row(s, "refused")["next_s"] > time.time(), "the schedule has moved on"
    s.wait(lambda: [one for one in s.alerts("schedule_missed") if one["subject"] == "refused"], "an alert is open")
    asked = sum(one.metric('makegood_asks_total{ask="fire"}') for one in s.cluster.supervisors)
    swept = s.cluster.supervisors[0].metric("makegood_sweeps_total")
    s.wait(lambda: s.cluster.supervisors[0].metric("makegood_sweeps_total") > swept + 12, "the time is over after which a due slot is asked about again")
    assert sum(one.metric('makegood_asks_total{ask="fire"}') for one in s.cluster.supervisors) == asked, "no loop"
    done = tool(s, "run", "refused", "--reason", "now", check=False)
    assert done.returncode == 2 and "/amount" in done.stderr, done.stderr
    tool(s, "delete", "refused", "--reason", "done")


def a_workflow_that_is_not_loaded_is_a_refusal(s):
    load(s, "unknown", every="1h", workflow="nothing")
    make_due(s, 30, "unknown")
    s.wait(lambda: runs(s, "unknown"), "the slot is recorded")
    assert runs(s, "unknown")[0]["what"] == "refused" and 'no workflow "nothing"' in runs(s, "unknown")[0]["text"], runs(s, "unknown")
    tool(s, "delete", "unknown", "--reason", "done")


def a_slot_is_skipped_while_an_earlier_order_is_open(s):
    load(s, "skips", every="1h")
    s.remote("payment").switch("silent")
    first = tool(s, "run", "skips", "--reason", "now")
    make_due(s, 30, "skips")
    s.wait(lambda: [run for run in runs(s, "skips") if run["what"] == "overlap"], "the slot is skipped")
    done = tool(s, "run", "skips", "--reason", "now", check=False)
    assert done.returncode == 4 and first["order_id"] in done.stderr, done.stderr
    s.remote("payment").switch("order")
    s.wait(lambda: {order["process_state"] for order in orders(s)} == {"processed"}, "it is processed")
    tool(s, "delete", "skips", "--reason", "done")


def a_slot_waits_for_an_earlier_order(s):
    load(s, "queues", every="1h", overlap="queue", catch_up="1h")
    s.remote("payment").switch("silent")
    first = tool(s, "run", "queues", "--reason", "now")
    make_due(s, 5400, "queues")
    slot_s = row(s, "queues")["next_s"]
    s.wait(lambda: s.rows("SELECT FROM schedule WHERE name = 'queues' AND next_at > next_slot + interval '1 h'"), "it was looked at, and waits")
    assert not [run for run in runs(s, "queues") if run["order_id"] != first["order_id"]] and row(s, "queues")["next_s"] == slot_s
    s.remote("payment").switch("order")
    s.wait(lambda: row(s, "queues")["next_s"] > time.time(), "the slot and those after it have their orders", 60)
    assert {run["what"] for run in runs(s, "queues")} == {"order"} and len(runs(s, "queues")) >= 3 and runs(s, "queues")[0]["slot_s"] == slot_s, runs(s, "queues")
    s.wait(lambda: {order["process_state"] for order in orders(s)} == {"processed"}, "all are processed")
    tool(s, "delete", "queues", "--reason", "done")


def an_earlier_order_is_cancelled_for_a_later_slot(s):
    load(s, "cancels", every="1h", overlap="cancel")
    s.remote("payment").switch("silent")
    first = tool(s, "run", "cancels", "--reason", "now")
    make_due(s, 30, "cancels")
    s.wait(lambda: len([run for run in runs(s, "cancels") if run["what"] == "order"]) == 2, "the slot has an order")
    goal = s.rows("SELECT goal FROM order_process WHERE order_id = %s", first["order_id"])[0]["goal"]
    assert goal == "cancelled", goal
    s.remote("payment").switch("order")
    ends = {"processed", "cancelled", "compensated"}
    s.wait(lambda: {order["process_state"] for order in orders(s)} <= ends, "all have ended", 60)
    assert s.rows("SELECT process_state FROM order_process WHERE order_id = %s", first["order_id"])[0]["process_state"] == "cancelled"
    tool(s, "delete", "cancels", "--reason", "done")


def an_unknown_zone_is_refused_at_the_load(s):
    done = load(s, "zone", zone="Europe/Zuerich", check=False)
    assert done.returncode == 2 and "no zone" in done.stderr, done.stderr
    assert not s.rows("SELECT FROM schedule WHERE name = 'zone'")


def the_mistakes_of_a_file_are_all_told_with_their_places(s):
    done = load(s, "wrong", cron="61 2 * * *", overlap="wait", jitter="x", check=False)
    assert done.returncode == 2, done
    for place in ("/cron", "/overlap", "/jitter"):
        assert f"{place}:" in done.stderr, done.stderr


@scenario(**ONE, long="slots and outages pass in real time")
def a_slot_without_an_order_has_its_reason(s):
    settle(s, input={"amount": "number?"})
    check_facts(s, (an_old_slot_is_missed_and_counted, a_refused_order_is_recorded_and_asked_for_once, a_workflow_that_is_not_loaded_is_a_refusal,
                    a_slot_is_skipped_while_an_earlier_order_is_open, a_slot_waits_for_an_earlier_order, an_earlier_order_is_cancelled_for_a_later_slot,
                    an_unknown_zone_is_refused_at_the_load, the_mistakes_of_a_file_are_all_told_with_their_places))
    s.check_slots()


@scenario(**ONE)
def the_nightly_settlement_of_the_documents_runs(s):
    """Would catch: a recipe that its page promises, and that does not run."""
    sample = pathlib.Path(__file__).parents[2] / "deploy" / "sample"
    s.cluster.tool("workflow", "load", sample / "workflows" / "settlement.json")
    tool(s, "load", str(sample / "schedules" / "nightly.json"), "--reason", "the first night")
    make_due(s, 3600)
    slot = row(s)["next_slot"].astimezone(zoneinfo.ZoneInfo("Europe/Zurich"))
    found = s.wait(lambda: s.rows("SELECT * FROM order_process WHERE workflow = 'settlement' AND process_state = 'processed'"), "the day is settled")
    labels = s.rows("SELECT name, value FROM order_label WHERE order_id = %s", found[0]["order_id"])
    assert labels == [{"name": "day", "value": slot.date().isoformat()}], labels
    day = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 3 * 86400))
    today = time.strftime("%Y-%m-%d", time.gmtime())
    back = tool(s, "backfill", "nightly", "--since", day, "--until", today, "--reason", "three nights")
    assert len(back) == 3, back
    s.wait(lambda: len(s.rows("SELECT FROM order_process WHERE process_state = 'processed'")) == 4, "three more days are settled")


@scenario(**ONE)
def civil_times_have_one_instant_each_when_clocks_change(s):
    """Would catch: a run that is left out or doubled in the night of a change."""
    settle(s)
    load(s)
    for before, wanted in (("2026-03-28T12:00:00Z", ["2026-03-29T01:30", "2026-03-30T00:30"]),
                           ("2026-10-24T12:00:00Z", ["2026-10-25T01:30", "2026-10-26T01:30"])):
        s.rows("UPDATE schedule SET next_slot = t, next_at = t, upcoming = ARRAY[t]::timestamptz[] FROM (SELECT %s::timestamptz AS t) n RETURNING 1", before)
        back = tool(s, "backfill", "nightly", "--since", before, "--until", wanted[1] + ":01Z", "--reason", "a look")
        assert [one["slot"][:16] for one in back] == wanted, back


@scenario(**PAIRS, long="slots pass in real time")
def each_slot_is_one_order_whatever_is_killed(s):
    """Would catch: a slot that is lost with its leader, or one that two leaders or two schedulers make twice."""
    settle(s)
    load(s, "often", every="10s", overlap="allow", catch_up="1m")
    first_s = row(s, "often")["next_s"]
    leader = next(one for one in s.cluster.supervisors if one.metric("makegood_supervisor_leading") == 1)
    s.wait(lambda: runs(s, "often"), "the first slot is fired", 30)
    leader.pause()  # it wakes as a former leader, with the same questions in hand
    s.wait(lambda: len(runs(s, "often")) >= 2, "the other fires the next slot", 40)
    leader.resume()
    scheduler = s.cluster.schedulers[0]
    scheduler.kill()
    scheduler.start()
    s.wait(lambda: len(runs(s, "often")) >= 4, "slots go on", 60)
    for supervisor in s.cluster.supervisors:
        supervisor.kill()
    until = time.monotonic() + 12
    s.wait(lambda: time.monotonic() > until, "a slot passes without a leader")
    for supervisor in s.cluster.supervisors:
        supervisor.start()
    s.wait(lambda: len(runs(s, "often")) >= 7, "the slots of the outage are caught up with", 90)
    tool(s, "pause", "often", "--reason", "enough")
    slots = [run["slot_s"] for run in runs(s, "often")]
    assert slots == list(range(first_s, first_s + 10 * len(slots), 10)), slots
    assert {run["what"] for run in runs(s, "often")} == {"order"}, runs(s, "often")
    s.wait(lambda: {order["process_state"] for order in orders(s)} == {"processed"}, "all are processed")
    assert len(orders(s)) == len(slots) and len({order["order_id"] for order in orders(s)}) == len(slots)
    s.check_slots()
