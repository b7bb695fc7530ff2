"""The questions and changes of people and clients: verbs of the tool, pages of the console, requests of the gateway.

Each is asked about a subject, for example an order. The proxy sees which statements it runs, and which of them hold the subject.
"""

import dataclasses
import json
from typing import Callable, Optional
import urllib.error
import urllib.request

from bench import REASON, SCHEDULES, TOKEN

ASK_S = 30.0
ANSWERED = (200, 202, 404, 409)  # 404 and 409 are answers, too: it was read
CODES_OF_TOOL = (0, 1, 3, 4)  # 1: an order's state that does not fit, or a line WRONG; 6: a server is away
RAISED = "the matrix raises"


@dataclasses.dataclass
class Answer:
    is_good: bool
    text: str


@dataclasses.dataclass
class Ask:
    """`what`: words of a verb, or a path; "{}" stands for the subject. `kind`: what the subject is, "" if there is none. `before`: makes
    that which the question changes."""
    program: str  # tool, console, gateway
    what: object
    kind: str = ""
    body: Optional[str] = None
    media: str = "application/json"  # of the body
    before: Optional[Callable] = None

    def __str__(self):
        return f"{self.program}: {' '.join(self.what) if self.program == 'tool' else self.what}"

    def ask(self, bench, subject):
        if self.before is not None:
            self.before(bench, subject)
        if self.program == "tool":
            done = bench.cluster.tool(*(word.replace("{}", subject) for word in self.what), check=False, timeout_s=120)
            return Answer(RAISED not in done.stdout + done.stderr and done.returncode in CODES_OF_TOOL,
                          f"exit {done.returncode}: {done.stdout[-4000:]}{done.stderr[-2000:]}")
        if self.program == "console":
            port, root, headers = bench.console.http_port, "/api/v1/", bench.cookie
        else:
            port, root, headers = bench.gateway.http_port, "/v1/", {"Authorization": f"Bearer {TOKEN}"}
        headers = headers if self.body is None else {**headers, "Content-Type": self.media}
        status, text, _ = request(port, root + self.what.replace("{}", subject), headers, self.body)
        return Answer(RAISED not in text and status in ANSWERED, f"{status}: {text[:4000]}")


def request(port, path, headers, body=None):
    """(status, text, headers of the answer); the status is 0 without an answer."""
    question = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers, data=None if body is None else body.encode())
    try:
        with urllib.request.urlopen(question, timeout=ASK_S) as answer:
            return answer.status, answer.read().decode("utf-8", "replace"), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode("utf-8", "replace"), error.headers
    except OSError as error:
        return 0, str(error), {}


def sign_in(bench):
    """The session of the console, as a browser has it."""
    host = f"localhost:{bench.console.http_port}"
    status, text, headers = request(bench.console.http_port, "/api/v1/login", {"Host": host, "Origin": f"http://{host}", "Content-Type": "application/json"},
                                    json.dumps({"token": bench.token}))
    assert status == 200, (status, text)
    return {"Host": host, "Cookie": headers["Set-Cookie"].split(";")[0]}


def resumed(bench, subject):
    bench.rows("UPDATE bulk SET state = 'running' WHERE bulk_id = %s", subject)


def loaded(bench, subject):
    if not bench.rows("SELECT 1 FROM schedule WHERE name = %s", subject):
        bench.load_schedule(subject)


# Words of verbs, with "{}" for a subject of this kind.
VERBS = {
    "order": ("order show {}", "order explain {}", "order export {}", "order calls {} charge", "order find {}", "order compensate {}",
              "audit --subject {}", "order set-aside {}", "order explain {}", "order readmit {}", "order list --line {}"),
    "open": ("order show {}", "order explain {}"),
    "archived": ("order show {}", "order explain {}", "order export {}", "order calls {} charge"),
    "service": ("service show {}", "service pause {}", "service resume {}", "service limit {} --rate 1000"),
    "workflow": ("workflow show {}", "order list --workflow {}", "workflow describe {}"),
    "schedule": ("schedule show {}", "schedule pause {}", "schedule resume {}", "schedule run {}", "schedule backfill {} --since 1m"),
    "alert": ("alert ack {}",),
    "bulk": ("bulk show {}", "bulk pause {}", "bulk stop {}"),
    "": ("order list", "order list --label customer=c", "order list --state processed", "order list --state error",
         "order list --step charge", "order list --group-by error", "order list --waiting *", "order find c", "workflow list", "alert list",
         "alert list --all", "alert causes", "service list", "service forget nobody", "schedule list", "bulk start cancel --all --dry-run",
         "bulk start cancel --all", "bulk list", "db status", "db vacuum-policy", "db vacuum-policy --hot 30d --keep 365d", "db retain",
         "doctor", "top -o json", "audit", "workflow load three.json", "schedule load matrix-one.json"),
}
PAGES = {
    "order": ("orders/{}", "calls/{}?step=charge", "find?text={}"), "open": ("orders/{}",), "archived": ("orders/{}",),
    "workflow": ("workflows/{}",), "schedule": ("schedules/{}",), "bulk": ("bulk/{}",),
    "": ("overview", "orders", "orders?label=customer%3Dc", "orders?state=error", "orders?state=open", "orders?waits_for=payment",
         "failures", "failures?step=charge", "alerts", "alerts?all=1", "services", "workflows", "schedules", "bulk", "choice", "find?text=c",
         "waiting", "audit"),
}
REQUESTS = {
    "order": ("orders/{}", "orders/{}/events"), "open": ("orders/{}",), "archived": ("orders/{}", "orders/{}/events"),
    "": ("orders", "orders?label=customer%3Dc", "orders?state=processed"),
}
READS = ("audit", "order list", "order show", "order explain", "order export", "order calls", "order find", "service show", "service list", "workflow",
           "schedule show", "schedule list", "bulk show", "bulk list", "alert list", "alert causes", "db status", "db retain", "doctor", "top")
BATCH = '{"order_id": "mx-ffffffffffff", "workflow": "three", "payload": {"customer": "c"}}\n'


def verb(words, kind):
    """With a reason, if it changes something."""
    reads = words.startswith(READS)
    before = resumed if words.startswith(("bulk pause", "bulk stop")) else None
    return Ask("tool", (*words.split(), *(() if reads or words == "db vacuum-policy" else REASON)), kind, before=before)


def asks():
    found = [verb(words, kind) for kind, each in VERBS.items() for words in each]
    found += [Ask("tool", ("schedule", "delete", "{}", *REASON), "schedule", before=loaded), Ask("tool", ("schedule", "load", f"{SCHEDULES[1]}.json", *REASON))]
    found += [Ask("console", path, kind) for kind, each in PAGES.items() for path in each]
    found += [Ask("gateway", path, kind) for kind, each in REQUESTS.items() for path in each]
    return found + [Ask("gateway", "orders/{}/cancel", "order", json.dumps({"reason": REASON[1]})),
                    Ask("gateway", "orders:batch", "", BATCH, "application/x-ndjson")]


def subjects(bench, kind):
    """Two of a kind: one, whose statement fails, and another."""
    return {"order": bench.readable, "open": bench.open_orders, "archived": bench.archived, "service": ("payment", "carrier"),
            "workflow": ("three", "lined"), "schedule": SCHEDULES, "": ("", ""),
            "alert": bench.two("SELECT alert_id::text FROM operator_alert ORDER BY alert_id DESC LIMIT 2"),
            "bulk": bench.two("SELECT bulk_id::text FROM bulk ORDER BY 1 LIMIT 2")}[kind]
