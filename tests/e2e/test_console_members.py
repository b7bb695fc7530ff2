"""Each member of each body that the console takes, with values of another type: the table is services/console/members.def."""

import json
import pathlib
import re
import uuid

from harness import scenario
from test_console import TOKENS, failed_order, kept

MEMBERS = pathlib.Path(__file__).resolve().parents[2] / "services" / "console" / "members.def"
WRONG = {"null": None, "true": True, "half": 0.5, "-1": -1, "a list": ["1h"], "an object": {"a": "1h"}}
WRONG_TEXT, WRONG_NUMBER = {**WRONG, "5": 5}, {**WRONG, "a text": "5", "40 digits": "9" * 40}
VERBS = {"orders": ("restart", "compensate", "cancel"), "bulk": ("pause", "resume", "stop")}


def bodies():
    """[(noun, verb, names of texts, names of whole numbers)]"""
    found = re.findall(r'^MG_BODY\("(\w+)", "([\w*]*)", "([\w ]*)", "([\w ]*)"\)$', MEMBERS.read_text(encoding="utf-8"), re.M)
    assert len(found) >= 9, found
    return [(noun, verb, texts.split(), numbers.split()) for noun, verb, texts, numbers in found]


def addresses(noun, verb, ids):
    if noun == "dead":
        return ["dead/requeue", "dead/drop"]
    if not verb:
        return [noun]
    return [f"{noun}/{ids[noun]}/{each}" for each in (VERBS[noun] if verb == "*" else (verb,))]


@scenario(services=("payment",))
def each_member_of_each_body_of_the_console_has_its_type(s):
    """Would catch: a member of a wrong type that counts as absent: a pause without an end, a bulk action without one of its filters;
    a misspelled one that is passed over; a refusal that does not name the member; a member that nobody listed."""
    order, console = failed_order(s)
    alert = s.wait(lambda: console.get("alerts")["alerts"], "the alert is open")[0]
    ids = {"orders": order.order_id, "services": "payment", "bulk": str(uuid.uuid4()), "schedules": "nightly", "alerts": alert["alert_id"]}
    good = {"token": TOKENS["operator"][1], "reason": "the test wants it", "version": int(s.process(order)["version"]), "command_id": str(uuid.uuid4()), "for": "10m",
            "concurrency": "2", "rate": "5", "verb": "resume", "workflow": "pay", "step": "charge", "service": "payment", "error": "http", "label": "a=b",
            "canary": "5", "stop_above": "10", "ticket": uuid.uuid4().hex, "orders": 1, "signal": "approved", "payload": "true", "queue": "orders.rejected", "mark": "x",
            "set": '{"/n": 1}', "repeat": "charge", "without_output": "no", "outcome": "done", "result": "1", "order_id": "by-hand",
            "shown": "0" * 64, "slot": 1}
    before, faults, count = kept(s), [], 0
    for noun, verb, texts, numbers in bodies():
        body = {name: good[name] for name in texts + numbers}
        wrong = [(name, shown, value) for name in texts for shown, value in WRONG_TEXT.items()]
        wrong += [(name, shown, value) for name in numbers for shown, value in WRONG_NUMBER.items()]
        wrong += [("no_such_membre", "a text", "x"), ("no\x1b[31m", "a text", "x")]
        for address in addresses(noun, verb, ids):
            for name, shown, value in wrong:
                count += 1
                status, _, text = console.ask("POST", "/api/v1/" + address, {**body, name: value})
                error = json.loads(text).get("error", "")
                if status != 400 or not error.startswith(name[:2]) or "\n" in error or "\x1b" in error:
                    faults.append(f"{address} {name}: {shown}: {status} {text.strip()}")
    assert not faults, f"{len(faults)} of {count}:\n" + "\n".join(faults)
    assert kept(s) == before and not s.rows("SELECT 1 FROM bulk")
    assert count > 200, count
    names = {name for _, _, texts, numbers in bodies() for name in texts + numbers}
    read = {name for path in MEMBERS.parent.glob("*.c") for name in re.findall(r'(?:mg_member_number|mg_document_text|mg_json_find|count_read)\(body, "/(\w+)"', path.read_text(encoding="utf-8"))}
    assert read == names, (read, names)
