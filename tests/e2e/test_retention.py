"""Ended orders leave the tables while others run: no promise is broken, and no archived data is lost."""

import json
import pathlib
import re

from jsonschema import Draft202012Validator

import answers
from harness import PAIRS, scenario
from local import orders, verdict
from test_console import Console

ROOT = pathlib.Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "proto/dossier.schema.json").read_text(encoding="utf-8"))
WORKFLOW = ROOT / "deploy/sample/workflows/fulfilment.json"
ENDED = ("processed", "compensated", "cancelled", "error", "rejected")
ORDERS = 100       # at least
ORDERS_MAX = 3000  # more than run until the leader notices the policy
UNDER_WAY = 20     # so that some orders are always running while others leave


def tool(s, *words, **options):
    return s.cluster.tool(*words, **options)


def leave_at_once(s):
    """Ended orders leave a second after their last change; an operator cannot set so short a time."""
    tool(s, "db", "vacuum-policy", "--hot", "1d", "--keep", "2d", "--reason", "to see it", "--by", "ann")
    tool(s, "db", "retain")
    s.rows("ALTER TABLE retention DROP CONSTRAINT retention_hot; UPDATE retention SET hot = '1s' RETURNING hot")


def hot_rows(s):
    """Rows of orders. An alert of the supervisor stays: that the archive had no partition yet, when the policy came first."""
    return s.rows("""SELECT (SELECT count(*) FROM orders) + (SELECT count(*) FROM order_process) + (SELECT count(*) FROM order_step)
                     + (SELECT count(*) FROM order_event)
                     + (SELECT count(*) FROM operator_alert WHERE order_id IS NOT NULL) AS rows""")[0]["rows"]


def has_left(s, order):
    return not s.process(order) and s.rows("SELECT FROM order_archive WHERE order_id = %s", order.order_id)


def export(s, order):
    """The tool's output without the time at which it was taken."""
    done = tool(s, "order", "export", order.order_id)
    return re.sub(r'"exported_at" : "[^"]*"', '"exported_at" : ""', done.stdout, count=1), done.stderr


@scenario(**PAIRS, long="graces, elections and patience pass in real time")
def orders_leave_under_load_and_nothing_of_them_is_lost(s):
    """Would catch: an order that leaves while it is still needed; a status, an undo or an event that leaves with it; a message that
    arrives too late for it."""
    tool(s, "workflow", "load", WORKFLOW)
    leave_at_once(s)
    lines, told = [], {}

    def ended():
        for message, _properties in s.client.messages:
            told.setdefault(message["order_id"], {})[message["seq"]] = message
        s.client.messages.clear()
        return sum(any(message["status"] in ENDED for message in messages.values()) for messages in told.values())

    for line in orders.mixed_lines(ORDERS_MAX):
        s.wait(lambda: len(lines) - ended() < UNDER_WAY, "some have ended")
        s.client.publish(line.text, reply_to=s.client.queue, correlation_id=line.order_id, message_id=line.order_id)
        lines.append(line)
        if len(lines) >= ORDERS and s.rows("SELECT count(*) AS orders FROM order_archive")[0]["orders"] >= ORDERS / 2:
            break
    else:
        raise AssertionError("none left while others were carried")
    s.wait(lambda: ended() == len(lines), "all orders have ended")
    s.wait(lambda: hot_rows(s) == 0, "all have left")

    kept = {row["order_id"]: row for row in s.rows("SELECT order_id, process_state, dossier FROM order_archive")}
    last = {order_id: messages[max(messages)]["status"] for order_id, messages in told.items()}
    wrong, _numbers = verdict.judge(lines, json.loads(WORKFLOW.read_text(encoding="utf-8")),
                                    {order_id: row["process_state"] for order_id, row in kept.items()}, last, s.cluster.remotes)
    assert not wrong, wrong[:5]
    for order_id, row in kept.items():
        dossier = row["dossier"]
        statuses = [status for event in dossier["events"] for status in event["statuses"] or []]
        assert statuses == [told[order_id][seq] for seq in range(1, dossier["order"]["seq"] + 1)], (order_id, statuses)
        assert [event["version"] for event in dossier["events"]] == list(range(1, dossier["order"]["version"] + 1)), order_id
        errors = [error.message for error in Draft202012Validator(SCHEMA).iter_errors(dossier)]
        assert not errors, errors
    assert s.client.depth("dead.letters") == 0
    retired = sum(float(found) for supervisor in s.cluster.supervisors
                  for found in re.findall(r"^makegood_orders_retired_total (\S+)$", supervisor.page(), re.MULTILINE))
    assert retired == len(lines), retired


@scenario(supervisors=2, long="graces, elections and patience pass in real time")
def an_archived_order_is_read_as_it_was_and_not_changed(s):
    """Would catch: an order that can no longer be found, that reads otherwise than before, or that a command brings back."""
    order, other = s.client.submit(payload={"total": 14.00}), s.client.submit(payload={"behaviour": {"carrier": "decline"}})
    s.client.wait_status(order, "processed")
    s.client.wait_status(other, "compensated")
    text, note = export(s, order)
    assert note == ""
    before = json.loads(tool(s, "order", "show", order.order_id, "-o", "json").stdout)
    console = Console(s)
    console.login("reader")
    page = console.get(f"orders/{order.order_id}")
    assert page["archived_on"] == ""
    leave_at_once(s)
    s.wait(lambda: has_left(s, order) and has_left(s, other), "both have left")
    after, note = export(s, order)
    assert after == text, (after, text)
    assert f"order {order.order_id} was archived on" in note, note
    shown = json.loads(tool(s, "order", "show", order.order_id, "-o", "json").stdout)
    archived_on = shown["archived_on"]
    assert not (faults := answers.faults("order show", json.dumps(shown))), faults
    assert "it is read-only" in shown.pop("explanation")["next"] and before["archived_on"] is None, shown
    before.pop("explanation")
    assert shown == {**before, "exported_at": shown["exported_at"], "archived_on": archived_on}
    kept = console.get(f"orders/{order.order_id}")
    assert kept["archived_on"] == archived_on and "it is read-only" in kept["explanation"]["next"], kept
    assert [kept[part] for part in ("payload", "steps")] == [page[part] for part in ("payload", "steps")], kept
    assert kept["dossier"]["events"] == page["dossier"]["events"], kept
    console.get("orders/there-is-none", status=404)
    told = tool(s, "order", "show", other.order_id).stdout
    assert "undone" in told and f"was archived on {archived_on}" in told, told
    assert "compensated" in tool(s, "order", "watch", other.order_id).stdout
    assert order.order_id not in tool(s, "order", "list").stdout
    done = tool(s, "order", "compensate", order.order_id, "--reason", "too late", check=False)
    assert done.returncode == 3 and "there is no" in done.stderr, done
    assert s.effect(order, "charge", "payment")["state"] == "done"

    s.client.messages.clear()
    s.client.post(order)  # the same id is a new order now, under the same keys: the services recognise these
    s.client.wait_status(order, "processed")
    assert s.effect(order, "charge", "payment")["effects"] == 1


@scenario(long="graces, elections and patience pass in real time")
def a_day_of_the_archive_is_given_away_before_it_is_dropped(s):
    """Would catch: a day that is dropped although its export failed; an export with gaps; a policy that lets orders leave while
    their clients still use them."""
    assert "no order leaves" in tool(s, "db", "vacuum-policy").stdout
    for words in (("--hot", "23h", "--reason", "why"), ("--keep", "soon", "--reason", "why"), ("--hot", "30d")):
        assert tool(s, "db", "vacuum-policy", *words, check=False).returncode == 2, words
    sent = [s.client.submit(payload={"n": number}) for number in range(3)]
    for order in sent:
        s.client.wait_status(order, "processed")
    leave_at_once(s)
    s.wait(lambda: all(has_left(s, order) for order in sent), "all have left")
    s.rows("""CREATE TABLE order_archive_20200131 PARTITION OF order_archive FOR VALUES FROM ('2020-01-31') TO ('2020-02-01');
              UPDATE order_archive SET archived_on = '2020-01-31' RETURNING order_id""")
    path = s.scratch / "2020-01-31.jsonl"
    for command in ("exit 3", f"cat >{path}; exit 1", "kill -9 $$"):
        done = tool(s, "db", "retain", "--export", command, check=False)
        assert done.returncode == 1 and "could not export 2020-01-31, which is kept: the command" in done.stderr, done
    assert "archived on 2020-01-31" in tool(s, "order", "explain", sent[0].order_id).stdout
    done = tool(s, "db", "retain", "--export", f"cd {s.scratch} && f=$MAKEGOOD_DAY.jsonl && cat >$f.part && sync $f.part"
                " && mv $f.part $f && sync .")
    assert done.stdout.splitlines() == ["exported 2020-01-31", "dropped 2020-01-31"], done
    given = {json.loads(line)["order_id"]: json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()}
    assert given.keys() == {order.order_id for order in sent}
    assert [given[order.order_id]["revisions"][0]["payload"] for order in sent] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert tool(s, "order", "show", sent[0].order_id, check=False).returncode == 3
    assert tool(s, "db", "retain", "--export", "exit 3").stdout == ""


@scenario(supervisors=2, long="graces, elections and patience pass in real time")
def a_forgotten_archive_raises_an_alert(s):
    """Would catch: tables that grow for months because a timer was never enabled."""
    order = s.client.submit()
    s.client.wait_status(order, "processed")
    tool(s, "db", "vacuum-policy", "--hot", "1d", "--reason", "to see it")
    s.rows("ALTER TABLE retention DROP CONSTRAINT retention_hot; UPDATE retention SET hot = '0' RETURNING hot")
    s.wait(lambda: s.alerts("retention_stands"), "it is told")
    assert "run makegood db retain" in s.alerts("retention_stands")[0]["text"]
    assert s.process(order)
    tool(s, "db", "retain")
    s.wait(lambda: has_left(s, order), "it has left")
    s.wait(lambda: s.alerts("retention_stands")[0]["closed_at"], "the alert is closed")
