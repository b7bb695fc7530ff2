"""Every kind of body, as the answer to every kind of call, against the real agent: one table with the meaning of each cell."""

import codecs
import collections
import gzip
import json
import zlib

from harness import scenario, step
from test_reach import StandIn

READ, EMPTY, PAGE, BROKEN = "read", "empty", "page", "broken"  # another word: the result cannot be read, and the reason has this word
JSON = "application/json"


def bodies(good):
    """{name: ((bytes, media type, more headers), meaning, the note that is read)}, of a text with a place for a note."""
    plain = good % "Ann"
    latin = (good % "Zürich").encode("latin-1")
    marked = f"{JSON}; charset="
    return {
        "plain": ((plain.encode(), JSON, {}), READ, "Ann"),
        "gzip": ((gzip.compress(plain.encode()), JSON, {"Content-Encoding": "gzip"}), READ, "Ann"),
        "deflate": ((zlib.compress(plain.encode()), JSON, {"Content-Encoding": "deflate"}), READ, "Ann"),
        "identity": ((plain.encode(), JSON, {"Content-Encoding": "identity"}), READ, "Ann"),
        "no gzip": ((plain.encode(), JSON, {"Content-Encoding": "gzip"}), "coding", None),
        "coding x": ((plain.encode(), JSON, {"Content-Encoding": "x-unknown"}), "coding", None),
        "mark": ((codecs.BOM_UTF8 + plain.encode(), JSON, {}), READ, "Ann"),
        "utf-16": ((plain.encode("utf-16"), JSON, {}), READ, "Ann"),
        "utf-16be": ((plain.encode("utf-16-be"), marked + "utf-16be", {}), READ, "Ann"),
        "latin-1": ((latin, marked + "iso-8859-1", {}), READ, "Zürich"),
        "latin-1 unmarked": ((latin, JSON, {}), READ, "Z\ufffdrich"),
        "utf-8 as latin-1": (((good % "Zürich").encode(), marked + "iso-8859-1", {}), READ, "Zürich"),
        "charset x": ((latin, marked + "x-none", {}), "x-none", None),
        "surrogate": (((good % r"Ann \ud83d").encode(), JSON, {}), READ, "Ann \ufffd"),
        "nul": (((good % r"a\u0000b").encode(), JSON, {}), READ, "a\ufffdb"),
        "wrong byte": ((plain.encode().replace(b"Ann", b"A\xffn"), JSON, {}), READ, "A\ufffdn"),
        "wide": ((plain.replace('"flag"', '"n":123456789012345678901234567890,"flag"').encode(), JSON, {}), READ, "Ann"),
        "twice": ((plain.replace('"flag"', '"id":"r2","flag"').encode(), JSON, {}), "twice", None),
        "nan": ((plain.replace('"r1"', "NaN").encode(), JSON, {}), "not JSON", None),
        "prefix": ((b")]}'," + plain.encode(), JSON, {}), "not JSON", None),
        "deep": ((b"[" * 40 + b"]" * 40, JSON, {}), "levels", None),
        "large": ((b'"' + b"x" * 70000 + b'"', JSON, {}), "65536", None),
        "text": ((b"it is done", "text/plain", {}), "not JSON", None),
        "json as html": ((plain.encode(), "text/html", {}), READ, "Ann"),
        "html": ((b"<p>down for maintenance</p>", "text/html", {}), PAGE, None),
        "html as json": ((b"\n<!DOCTYPE html><html>", JSON, {}), PAGE, None),
        "number as html": ((b"503 Service Temporarily Unavailable", "text/html", {}), PAGE, None),
        "dash as html": ((b"-- down for maintenance --", "text/html; charset=utf-8", {}), PAGE, None),
        "brace as html": ((b"{maintenance} back soon", "text/html", {}), PAGE, None),
        "bracket as html": ((b"[maintenance]", "text/html", {}), PAGE, None),
        "word as html": ((b"truely sorry", "text/html", {}), PAGE, None),
        "html x": ((b"Wartung", "text/html; charset=x-none", {}), PAGE, None),
        "html no gzip": ((b"<p>down</p>", "text/html", {"Content-Encoding": "gzip"}), PAGE, None),
        "xhtml as text": ((b'<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "x"><html>', "text/plain", {}), PAGE, None),
        "comment": ((b"<!-- x --><html><body>down</body></html>", None, {}), PAGE, None),
        "head as json": ((b"<head><title>503</title></head>", JSON, {}), PAGE, None),
        "xml": ((b"<?xml version='1.0'?><ok/>", "application/xml", {}), "not JSON", None),
        "cut": ((b'{"id":"r1","fl', None, {"Content-Length": None, "Connection": "close"}), BROKEN, None),
        "two lengths": ((plain.encode(), JSON, {"content-length": "7"}), BROKEN, None),
        "empty": ((b"", "text/html", {}), EMPTY, None),
    }


BODIES = bodies('{"id":"r1","flag":true,"code":"SOLD_OUT","message":"none left","note":"%s"}')


class Programmable(StandIn):
    """Each path ends with the name of a body, behind the status: /kind/200/gzip. /ok and /fail have their own answers."""

    def answer(self, call, _body):
        assert call.path.count("/") == 3, call.path
        _, kind, status, name = call.path.split("/")
        if kind == "again" and len(self.of(call)) == 1:
            return None  # the first answer to a key is lost
        if kind in ("ok", "lost"):
            return {"ok": (200, JSON, b'{"id":"r0"}', {}), "lost": None}[kind]
        if kind == "accept":
            return 202, JSON, b"{}", {}
        body, media, more = BODIES[name.replace("_", " ")][0]
        return int(status), media, body, more

    def of(self, call):
        key = call.headers["Idempotency-Key"]
        return [path for _, path, headers, _ in self.calls if headers.get("Idempotency-Key") == key and path == call.path]


ONCE = {"attempts": 1, "backoff": "10ms"}


def ask(kind, status):
    """The path of a call whose order names the body."""
    return f"/{kind}/{status}/${{/payload/body}}"


def post(kind, status=200):
    return {"method": "POST", "path": ask(kind, status), "body": {}}


def get(kind, status=200):
    return {"method": "GET", "path": ask(kind, status)}


def one(**fields):
    return [{**step("one", "shop", retry=ONCE, complete_within="3s"), "undo": "none", **fields}]


def undone(status):
    return [{**step("one", "shop", retry=ONCE, do=post("ok")), "undo": {**post("undo", status), "retry": ONCE}},
            step("two", "shop", after=["one"], retry=ONCE, undo="none", do=post("say", 422))]


def learning(**fields):
    """The first answer is lost, the next step refuses, and the undo needs the id that the learning brings."""
    undo = {"method": "POST", "path": "/ok/${/results/one/id}/${/payload/body}", "body": {}, "retry": ONCE}
    return [{**step("one", "shop", retry=ONCE, complete_within="3s"), "undo": undo, **fields}]


# name: (steps, status, what the step "one" is for each meaning: (state, code))
def is_done(meaning):
    return {READ: ("done", ""), EMPTY: ("done", "")}.get(meaning, ("done", "result_unreadable"))


def is_own(meaning):
    return meaning in (READ, EMPTY)


def is_lost(meaning):
    return meaning in (PAGE, BROKEN)


LOST = {PAGE: "page_answered", BROKEN: "broken_answer"}
LEARNED = {READ: ("undone", None)}  # any other answer lacks the id, and no undo goes out
KINDS = {
    "do": (one(on_unknown="operator", do=post("say")),
           lambda meaning: ("unknown", LOST[meaning]) if is_lost(meaning) else is_done(meaning)),
    "verify": (one(on_unknown="verify", do=post("lost"), verify=get("say")),
               lambda meaning: ("failed", None) if is_lost(meaning) else
               ("done", None) if is_own(meaning) else ("done", "result_unreadable")),
    "verify-404": (one(on_unknown="verify", absent_is_final=True, do=post("lost"), verify=get("say", 404)),
                   lambda meaning: ("failed", "broken_answer")),
    "poll": (one(on_unknown="verify", finish_within="2s", poll="300ms", do=post("accept"), verify=get("say")),
             lambda meaning: (None, None) if is_lost(meaning) else is_done(meaning)),
    "undo": (undone(200), lambda meaning: ("undo_failed", LOST[meaning]) if is_lost(meaning) else ("undone", None)),
    "undo-404": (undone(404), lambda meaning: ("undone", None) if is_own(meaning) or meaning == "x-none" else
                 ("undo_failed", "broken_answer" if meaning == BROKEN else "http_404")),
    "learn-repeat": (learning(learn="repeat", do=post("again")), lambda meaning: LEARNED.get(meaning, ("undo_failed", None))),
    "learn-verify": (learning(learn="verify", on_unknown="retry", do=post("lost"), verify=get("say")),
                     lambda meaning: LEARNED.get(meaning, ("undo_failed", None))),
    "learn-refused": (learning(learn="repeat", do=post("again", 422)),
                      lambda meaning: ("undo_failed" if is_lost(meaning) else "undone", None)),
    "refusal": (one(do=post("say", 422)),
                lambda meaning: (None, "broken_answer") if meaning == BROKEN else ("failed", "http_422/SOLD_OUT" if meaning in (READ, "x-none") else "http_422")),
}
DOUBTFUL = {"twice", "nan", "prefix", "deep", "large"}  # a service's own JSON that gives no result: judged by its other cells


def start_agent(s, shop):
    """Its breaker stays closed: most cells are failures."""
    path = s.scratch / "service-shop.json"
    path.write_text(json.dumps({"service": "shop", "url": shop.url, "tries": 1, "breaker": {"min_calls": 1000000}}), encoding="utf-8")
    s.cluster.agents.append(s.cluster.make("agent", "agent-shop", "--service", path))
    s.cluster.agents[-1].start().wait_ready()


def judged(s, order, kind, name):
    _, meaning, note = BODIES[name]
    state, code = KINDS[kind][1](meaning)
    row = s.step(order, "one")
    seen = (row["state"], row["error_code"] or "")
    wanted = (seen[0] if state is None else state, seen[1] if code is None else code)
    faults = [] if seen == wanted else [f"{seen} in place of {wanted}: {row['error_text']}"]
    if seen[1] == "result_unreadable" and meaning not in row["error_text"]:
        faults.append(f"the reason lacks {meaning!r}: {row['error_text']}")
    if kind == "refusal" and row["maybe"] != is_lost(meaning):
        faults.append(f"maybe is {row['maybe']}")
    if meaning == READ and kind in ("do", "verify", "poll") and (json.loads(row["result"] or "{}").get("note") != note):
        faults.append(f"the result is {row['result']}")
    return faults


@scenario(agents=0, services=("shop",), long="each answer, right or argument in turn")
def every_body_has_its_meaning_for_every_kind_of_call(s):
    """Would catch: an answer that was dropped without a trace, a page that was taken for done, a proxy's 404 taken for absent."""
    s.expects_open_orders = True
    shop = Programmable()
    start_agent(s, shop)
    orders = {}
    for kind, (steps, _) in KINDS.items():
        s.load_workflow(kind, steps, on_failure="compensate")
        for name in BODIES:
            if kind.endswith("404") and name in DOUBTFUL:
                continue
            orders[kind, name] = s.client.submit(kind, {"body": name.replace(" ", "_")})
    moving = ("accepted", "processing", "compensating")
    s.wait(lambda: len(s.rows("SELECT order_id FROM order_process")) == len(orders), "all orders are stored")
    s.wait(lambda: not s.rows("""SELECT order_id, step, t.state FROM order_process p JOIN order_step t USING (order_id)
                                 WHERE process_state IN %s AND NOT (workflow = 'do' AND t.state = 'unknown')""", moving),
           "all orders have come to rest", 60)
    wrong = {cell: faults for cell, order in orders.items() if (faults := judged(s, order, *cell))}
    assert not wrong, "\n".join(f"{' × '.join(cell)}: {'; '.join(faults)}" for cell, faults in wrong.items())
    undone_by = collections.Counter(path for _, path, *_ in shop.calls if path.startswith("/ok/r1/"))
    assert undone_by == {f"/ok/r1/{name.replace(' ', '_')}": 2 for name, (_, meaning, _) in BODIES.items() if meaning == READ}, undone_by
    explained = s.cluster.tool("order", "explain", orders["do", "twice"].order_id).stdout
    shown = s.cluster.tool("order", "show", orders["do", "twice"].order_id).stdout
    assert "step one has a result that cannot be read" in explained and "its result cannot be read" in shown, (explained, shown)
    print(f"{len(orders)} cells")


@scenario(agents=0, services=("shop",))
def a_result_that_cannot_be_read_decides_no_branch(s):
    """Would catch: has() of it as false, so that the other branch is taken in silence."""
    shop = Programmable()
    start_agent(s, shop)
    asking = "has(results.one) ? !results.one.flag : true"
    s.load_workflow("branch", [
        step("one", "shop", retry=ONCE, undo="none", when="payload.total > 1", do=post("say")),
        step("two", "shop", after=["one"], retry=ONCE, undo="none", when=asking, do=post("ok"))])
    s.load_workflow("none", [step("one", "shop", retry=ONCE, undo="none", result="none", do=post("say"))])
    bad = s.client.submit("branch", {"total": 500, "body": "twice"})
    good = s.client.submit("branch", {"total": 500, "body": "surrogate"})
    unwanted = s.client.submit("none", {"body": "twice"})
    s.wait_state(bad, "compensated")
    s.wait_state(good, "processed")
    s.wait_state(unwanted, "processed")
    assert [s.step_state(good, "two"), s.step(unwanted, "one")["error_code"]] == ["skipped", None]
    assert "results.one cannot be read" in s.step(bad, "two")["error_text"], s.step(bad, "two")
    assert not [path for _, path, *_ in shop.calls if path.startswith("/ok")], shop.calls
