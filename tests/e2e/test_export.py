"""The contents of an order's dossier, and the data that must not be in it."""

import json
import pathlib

from jsonschema import Draft202012Validator

from harness import scenario, step
from test_secrets import OWN, Vault

SCHEMA = json.loads((pathlib.Path(__file__).parents[2] / "proto/dossier.schema.json").read_text(encoding="utf-8"))


def undescribed(value, schema, where=""):
    """Members of a document that its schema does not describe, although it describes their object."""
    if isinstance(value, list):
        return [name for item in value for name in undescribed(item, schema.get("items", {}), where + "/*")]
    if not isinstance(value, dict) or "properties" not in schema:
        return []
    found = [f"{where}/{name}" for name in value if name not in schema["properties"]]
    for name, member in schema["properties"].items():
        found += undescribed(value.get(name), member, f"{where}/{name}")
    return found


@scenario(**OWN)
def a_dossier_holds_everything_of_an_order_and_no_secret(s):
    """Would catch: an export that leaves out events, that cannot be validated, or that discloses a credential."""
    vault = Vault(s)
    vault.start()
    s.load_workflow("stops", [step("pay", "till", do={"method": "POST", "path": "/pay", "body": "${/payload}"})],
                    on_failure="error")
    order = s.client.submit("stops", {"want": "decline"})
    s.wait_state(order, "error")
    s.cluster.tool("order", "compensate", order.order_id, "--reason", "it was declined", "--by", "ann")
    s.wait_state(order, "compensated")
    text = s.cluster.tool("order", "export", order.order_id).stdout
    dossier = json.loads(text)
    errors = [error.message for error in Draft202012Validator(SCHEMA).iter_errors(dossier)]
    assert not errors, errors
    assert not undescribed(dossier, SCHEMA), undescribed(dossier, SCHEMA)

    assert dossier["order_id"] == order.order_id and dossier["order"]["version"] == len(s.events(order))
    assert dossier["workflow"]["definition"]["steps"][0]["do"]["path"] == "/pay"
    assert [revision["payload"] for revision in dossier["revisions"]] == [{"want": "decline"}]
    assert dossier["steps"][0]["error_code"] == "http_422", dossier["steps"]
    assert [event["version"] for event in dossier["events"]] == [row["version"] for row in s.events(order)]
    told = [status for event in dossier["events"] for status in event["statuses"] or []]
    assert [status["seq"] for status in told] == list(range(1, dossier["order"]["seq"] + 1)), told
    assert [(alert["code"], alert["closed_at"] is None) for alert in dossier["alerts"]] == [("order_error", False)]
    assert dossier["alerts"][0]["signature"] == "http_422", dossier["alerts"]
    assert [event["by_whom"] for event in dossier["events"] if event["cause_kind"] == "compensate"] == ["ann"]

    assert "Bearer" not in text and not vault.safe.found_in(text), text
    for secret_file in vault.files.values():
        assert secret_file.read_text(encoding="ascii").strip() not in text

    missing = s.cluster.tool("order", "export", "no-such-order", check=False)
    assert missing.returncode == 3 and missing.stdout == "", missing
    assert "there is no order no-such-order" in missing.stderr, missing
