"""Text for people: data of services and operators steers no terminal, and columns stand under each other."""

import re
import unicodedata

from harness import DEADLINE_S, scenario, step
from local import cluster, processes

AGENT = ("/usr/bin/python3", "-B", cluster.REPOSITORY / "tests" / "e2e" / "steering_agent.py")
STEERS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@scenario(services=("payment",))
def a_code_that_steers_a_terminal_reaches_none(s):
    """Would catch: a window's title, a cleared screen or a reversed line by the error code of a service."""
    s.cluster.tool("broker", "apply", "--service", "parcels")
    s.load_workflow("parcel", [step("charge", "payment", do={"method": "POST", "path": "/charges", "body": {"amount": 14.5}}),
                               step("deliver", "parcels", after=["charge"], do={"method": "POST", "path": "/parcels", "body": {}})])
    agent = processes.Process("steering", [*AGENT, s.url], s.scratch / "steering.log")
    s.others.append(agent)
    agent.start()
    posted = s.client.submit("parcel", {})
    order = posted.order_id
    s.client.wait_status(posted, "compensated", DEADLINE_S)
    for words in (("explain", order), ("show", order), ("watch", order), ("list",), ("list", "--group-by", "error"), ("export", order)):
        text = s.cluster.tool("order", *words).stdout
        assert not STEERS.search(text), (words, text)
    assert "code" in s.cluster.tool("order", "explain", order).stdout


def columns(text):
    return sum(0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


@scenario(services=("payment", "carrier"))
def tables_of_names_in_other_scripts_stand_straight(s):
    """Would catch: columns that are counted in bytes."""
    s.cluster.tool("service", "pause", "payment", "--by", "Jürgen e\u0301", "--reason", "Prüfung")
    s.cluster.tool("service", "pause", "carrier", "--by", "東京太郎", "--reason", "検査")
    lines = s.cluster.tool("service", "list").stdout.splitlines()
    head, rows = lines[0], [line for line in lines[1:] if line.startswith(("payment", "carrier"))]
    assert len(rows) >= 2 and "by_whom" in head, lines
    parts = [(row.partition(name)[0] + name, row.partition(name)[2]) for name in ("Jürgen e\u0301", "東京太郎") for row in rows if name in row]
    gaps = [columns(behind) - columns(behind.lstrip()) for _, behind in parts]
    ends = {columns(before) + gap for (before, _), gap in zip(parts, gaps)}
    assert min(gaps) == 2, f"the column is as wide as its widest cell: {lines}"
    assert len(ends) == 1, lines
