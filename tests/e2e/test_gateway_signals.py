"""Signals and callbacks over HTTP: through the real broker, to a stand-in for the schedulers that answers as it is told."""

import base64
import hashlib
import hmac
import json
import re
import signal
import threading

from harness import check_facts, scenario
from stand_in import StandIn
from test_gateway import Gateway as Door, TOKENS, contract_faults, logged

SECRET, OLDER, FOREIGN = ("0123456789abcdef" * 4, "a secret of last year, long enough", "a secret of somebody else, long enough")
READS_ONLY, UNMADE = "a token that may only read", "a token of a client whose exchange is missing"
RIGHTS = "submit,read,cancel,signal"
FORMS = ((r"/v1/orders/[^/]+/signals/[^/]+", "/v1/orders/{order_id}/signals/{signal}"), (r"/v1/signals/[^/]+", "/v1/signals/{signal}"),
         (r"/v1/callbacks/.*", "/v1/callbacks/{token}"))


class Gateway(Door):
    def note(self, method, path, status):
        bare = path.split("?")[0]
        for pattern, form in FORMS:
            if re.fullmatch(pattern, bare):
                self.seen.add((method, form, status))

    def signal(self, path, body=None, key="evt-1", **options):
        """(status, the answer's JSON)."""
        headers = {"Idempotency_Key": key} if key is not None else {}
        status, _, data = self.ask("POST", path, body, **headers, **options)
        return status, json.loads(data)

    def call_back(self, token, body=None, content_type="application/json"):
        status, headers, data = self.ask("POST", f"/v1/callbacks/{token}", body, client=None, Content_Type=content_type)
        return status, headers, data


def token_of(order_id, step, generation=0, secret=SECRET):
    named = f"{order_id}/{step}/{generation}".encode()
    mac = hmac.new(secret.encode(), b"makegood callback 1\n" + named, hashlib.sha256).digest()
    return base64.urlsafe_b64encode(mac + named).decode().rstrip("=")


def open_door(s, *words, **options):
    secrets = s.scratch / "callback-secret"
    secrets.write_text(f"{SECRET}\n{OLDER}\n", encoding="ascii")
    tokens = [(RIGHTS, name, token) for name, token in TOKENS.items()] + [("read", "shop", READS_ONLY)]
    gateway = Gateway(s, "--callback-secret-file", secrets, *words, tokens=options.pop("tokens", tokens), **options)
    gateway.process.wait_ready()
    return gateway


def apply(s):
    s.cluster.tool("broker", "apply", "--client", "shop", "--signal", "paid", "--signal", "approved")
    s.cluster.tool("broker", "apply", "--client", "other", "--signal", "refunded")


ORDER, BY_KEY = "/v1/orders/o-1/signals/paid", "/v1/signals/paid?key=invoice%2F17%20%E2%80%93%20Z%C3%BCrich"


def a_signal_goes_as_it_is_through_the_clients_own_exchange(s, door, schedulers):
    """Would catch: a signal in another client's name, a payload whose digits change, an address that is lost."""
    body = '{"amount": 14.00, "n": 123456789012345678901234567890}'
    assert door.signal(ORDER, body) == (200, {"signal": "taken", "order_id": "o-1", "state": "processing"})
    exchange, key, properties, command = schedulers.taken[-1]
    assert (exchange, key) == ("makegood.signals.shop", "paid"), (exchange, key)
    assert properties.message_id == "evt-1" and properties.type == "command"
    assert command == {"v": 1, "command_id": "evt-1", "command": "signal", "order_id": "o-1", "signal": "paid",
                       "payload": json.loads(body), "by": "client shop"}, command
    assert body.encode() in schedulers.bodies[-1], schedulers.bodies[-1]
    assert door.signal(ORDER, None, key='"evt-2"')[0] == 200
    assert schedulers.taken[-1][3]["payload"] is None and schedulers.taken[-1][3]["command_id"] == "evt-2"
    schedulers.answer = lambda command: {"verdict": "done", "signal": "kept"}
    assert door.signal(BY_KEY, "17") == (200, {"signal": "kept"})
    assert schedulers.taken[-1][3]["key"] == "invoice/17 – Zürich" and "order_id" not in schedulers.taken[-1][3]
    for word in ("counted", "duplicate"):
        schedulers.answer = lambda command, word=word: {"verdict": "done", "signal": word}
        assert door.signal(ORDER)[1]["signal"] == word
    assert s.client.depth("orders.signals") == 0


def an_answer_of_the_schedulers_is_a_status(_, door, schedulers):
    answers = {("conflict", "late"): 409, ("conflict", "refused"): 403, ("conflict", None): 409, ("not_found", None): 404,
               ("invalid", None): 422}
    for (verdict, word), status in answers.items():
        schedulers.answer = lambda command, verdict=verdict, word=word: {"verdict": verdict, **({"signal": word} if word else {}), "text": "why"}
        assert door.signal(ORDER)[0] == status, (verdict, word)
        if word or verdict == "invalid":  # the others are answers about an order
            assert door.signal(BY_KEY)[0] == status, (verdict, word)
    schedulers.answer = lambda command: {"verdict": "invalid", "may_pass": True}
    assert door.signal(ORDER)[0] == door.signal(BY_KEY)[0] == 503


def two_clients_with_one_key_get_each_its_own_answer(_, door, schedulers):
    """Would catch: an answer that is given to another client's request, because both have the same id and order."""
    schedulers.answer = lambda command: {"verdict": "done", "signal": "kept" if command["signal"] == "paid" else "taken"}
    seen = []

    def ask(path, client, expected):
        for _ in range(20):
            seen.append(door.signal(path, client=client)[1]["signal"] == expected)
    threads = [threading.Thread(target=ask, args=(ORDER, "shop", "kept")),
               threading.Thread(target=ask, args=("/v1/orders/o-1/signals/refunded", "other", "taken"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 40 and all(seen), seen


def a_name_that_was_not_given_comes_back(_, door, schedulers):
    """Would catch: a client that sends another client's signal, or one that nobody allowed."""
    count = len(schedulers.taken)
    for path in ("/v1/orders/o-1/signals/refunded", "/v1/signals/refunded?key=k"):
        status, problem = door.signal(path)
        assert status == 403 and "makegood broker apply --client shop --signal refunded" in problem["detail"], problem
        assert door.signal(path, client="other")[0] == 200
    assert len(schedulers.taken) == count + 2


def a_request_that_cannot_be_is_refused(_, door, schedulers):
    schedulers.answer = lambda command: {"verdict": "done", "signal": "taken"}
    count = len(schedulers.taken)
    for path in (ORDER, BY_KEY):
        for key in (None, "", "with blank", "a/b", "x" * 65):
            assert door.signal(path, "1", key=key)[0] == 400, key
        for body in ("{", "1 2", '{"a": 1, "a": 2}', b'"\xff"', "[" * 40 + "]" * 40):
            assert door.signal(path, body)[0] == 400, body
        assert door.signal(path, '"' + "x" * 65535 + '"')[0] == 413
        assert door.signal(path, "1", token="no token of anyone")[0] == door.signal(path, "1", client=None)[0] == 401
        assert door.signal(path, "1", token=READS_ONLY)[0] == 403
        assert door.signal(path, "1", Accept="text/html")[0] == 406
        assert door.signal(path, "1", Content_Type="text/plain")[0] == 415
    for path in ("/v1/signals/paid", "/v1/signals/paid?key=", "/v1/signals/paid?key=a%09b", "/v1/signals/paid?key=%FF",
                 "/v1/signals/paid?key=" + "x" * 257, "/v1/signals/paid?key=a&key=b", "/v1/signals/paid?kay=a", ORDER + "?key=a"):
        assert door.signal(path, "1")[0] == 400, path
    for path in ("/v1/orders/o-1/signals/Paid", "/v1/orders/o-1/signals/", "/v1/orders//signals/paid", "/v1/signals/"):
        assert door.signal(path, "1")[0] == 404, path
    assert len(schedulers.taken) == count
    assert door.signal(ORDER, '"' + "x" * 65534 + '"')[0] == 200
    assert door.signal(ORDER, "[" * 30 + "]" * 30)[0] == 200


def a_callback_is_what_its_service_sends(_, door, schedulers):
    """Would catch: a callback that is lost for its form; one that is sent again and counts twice."""
    token = token_of("o-1", "charge", 2)
    bodies = {('{"state": "settled", "sum": 14.00}', "application/json"): {"state": "settled", "sum": 14.0},
              ("[1]", None): [1], ("[2]", "application/vnd.psp+json; charset=utf-8"): [2], ("[3]", "text/plain"): "[3]",
              ("{not JSON", "text/plain"): "{not JSON", ("{not JSON either", None): "{not JSON either",
              ("state=settled&n=1", "application/x-www-form-urlencoded"): "state=settled&n=1",
              (b"caf\xe9 \x00", "text/plain"): "caf\ufffd \ufffd", (None, None): None}
    ids = set()
    for (body, content_type), payload in bodies.items():
        status, _, data = door.call_back(token, body, content_type)
        assert (status, json.loads(data)["signal"]) == (200, "taken"), (body, data)
        exchange, key, properties, command = schedulers.taken[-1]
        assert (exchange, key) == ("makegood.callbacks", "callback")
        assert command == {"v": 1, "command_id": properties.message_id, "command": "signal", "order_id": "o-1", "step": "charge",
                           "generation": 2, "payload": payload, "by": "callback"}, command
        ids.add(command["command_id"])
    assert len(ids) == len(bodies) and all(re.fullmatch("[0-9a-f]{64}", one) for one in ids)
    assert door.call_back(token, "[1]", None)[0] == 200 and schedulers.taken[-1][3]["command_id"] in ids, "the same again"
    assert door.call_back(token_of("o-1", "charge", 3), "[1]", None)[0] == 200 and schedulers.taken[-1][3]["command_id"] not in ids
    assert door.call_back(token_of("o-1", "charge", secret=OLDER))[0] == 200, "a token of a secret before"
    assert door.call_back(token, "x" * 65537, "text/plain")[0] == door.call_back(token, "\n" * 60000, "text/plain")[0] == 413


def a_callback_that_is_cut_short_is_refused_and_may_be_sent_again(_, door, schedulers):
    """Would catch: half a report that ends a step as a text, so that its service's whole one is late."""
    token, count = token_of("o-1", "charge", 4), len(schedulers.taken)
    for body in ('{"state": "settled", "sum": 14.', "[" * 40 + "]" * 40, "state=settled", b'{"name": "caf\xe9"}'):
        for content_type in ("application/json", "application/json; charset=utf-8", "application/vnd.psp+json"):
            status, _, data = door.call_back(token, body, content_type)
            assert status == 400 and b"not the JSON that its Content-Type names" in data, (body, status, data)
    assert re.search(rb"(byte|line|column) \d+", door.call_back(token, '{"state": "settled", "sum": 14.', "application/json")[2])
    assert len(schedulers.taken) == count
    assert door.call_back(token, '{"state": "settled", "sum": 14.00}', "application/json")[0] == 200
    assert door.call_back(token, "", "application/json")[0] == 200 and schedulers.taken[-1][3]["payload"] is None


def a_token_that_is_not_ours_is_as_a_step_that_there_is_not(_, door, schedulers):
    """Would catch: a callback that ends a step without its token, or an answer that tells a guesser how near it was."""
    token, count = token_of("o-1", "charge"), len(schedulers.taken)
    wrong = ["", "x", token[:-1], token[1:], token + "A", token + "=", token.swapcase(), "A" * 5000, "a/b", "%00", "%2e%2e", token_of("o-1", "charge", secret=FOREIGN),
             token_of("o-2", "charge")[:43] + token[43:]]
    texts = {door.call_back(one, "[1]")[2] for one in wrong}
    assert all(door.call_back(one, "[1]")[0] == 404 for one in wrong) and len(schedulers.taken) == count
    for verdict in ("not_found", "invalid"):
        schedulers.answer = lambda command, verdict=verdict: {"verdict": verdict}
        assert door.call_back(token)[0] == 404, verdict
        texts.add(door.call_back(token)[2])
    assert len(texts) == 1, texts
    schedulers.answer = lambda command: {"verdict": "conflict", "signal": "late"}
    assert door.call_back(token)[0] == 409
    schedulers.answer = lambda command: {"verdict": "invalid", "may_pass": True}
    status, headers, _ = door.call_back(token)
    assert status == 503 and headers["Retry-After"]
    schedulers.answer = lambda command: {"verdict": "done", "signal": "taken"}
    with open(door.process.log_path, encoding="utf-8") as log:
        assert token not in log.read(), "a token in a log"


def a_signal_without_an_answer_is_503_and_may_be_sent_again(_, door, schedulers):
    schedulers.answer = lambda command: None
    token, count = token_of("o-1", "charge"), len(schedulers.taken)
    assert [door.signal(ORDER)[0], door.signal(BY_KEY)[0], door.call_back(token)[0]] == [503] * 3
    assert len(schedulers.taken) > count + 3, "each was sent again meanwhile"
    schedulers.answer = lambda command: {"verdict": "done", "signal": "taken"}


def a_missing_exchange_is_named_and_disturbs_no_other_client(s, door, _):
    """Would catch: a publish to a missing exchange, by which the broker closes the channel of all clients."""
    token = token_of("o-1", "charge")
    s.client.channel.exchange_delete("makegood.callbacks")
    s.client.channel.exchange_delete("makegood.signals.other")
    for words in ("callbacks are refused", "signals of a client are refused"):
        s.wait(lambda words=words: logged(door, words), words)
    assert door.call_back(token)[0] == 503
    status, problem = door.signal("/v1/orders/o-1/signals/refunded", client="other")
    assert status == 503 and "makegood broker apply --client other --signal refunded" in problem["detail"], problem
    assert door.signal(ORDER)[0] == 200, "no other client is disturbed"
    apply(s)
    s.wait(lambda: door.call_back(token)[0] == 200 and door.signal("/v1/orders/o-1/signals/refunded", client="other")[0] == 200, "both are back")


def a_client_has_its_rate(s, door, _):
    narrow = open_door(s, "--client-rate", "1")
    narrow.seen = door.seen
    for path in (ORDER, BY_KEY):
        s.wait(lambda path=path: narrow.signal(path)[0] == 429, "too many")


def the_secret_is_read_again(s, door, _):
    """Would catch: a secret that cannot be replaced, or a mistake in its file that ends the gateway."""
    path, token = s.scratch / "callback-secret", token_of("o-1", "charge", secret=FOREIGN)

    def reread(text):
        count = len(logged(door, "callback-secret-file"))
        path.write_text(text, encoding="ascii")
        door.process.signal(signal.SIGHUP)
        s.wait(lambda: len(logged(door, "callback-secret-file")) > count, "the file is read again")
    assert door.call_back(token)[0] == 404
    reread(f"{FOREIGN}\n{SECRET}\n")
    assert [door.call_back(token_of("o-1", "charge", secret=one))[0] for one in (FOREIGN, SECRET, OLDER)] == [200, 200, 404]
    reread("short\n")
    assert "line 1" in logged(door, "callback-secret-file")[-1] and door.call_back(token)[0] == 200


def the_contract_of_signals_is_kept(_s, door, _):
    faults = contract_faults(door, lambda path: "/signals/" in path or "/callbacks/" in path)
    assert not faults, faults


@scenario(schedulers=0, supervisors=0, agents=0)
def a_signal_over_http_is_its_client_s_and_a_callback_its_step_s(s):
    apply(s)
    door, schedulers = open_door(s), StandIn(s.url)
    try:
        check_facts(s, [a_signal_goes_as_it_is_through_the_clients_own_exchange, an_answer_of_the_schedulers_is_a_status,
                        two_clients_with_one_key_get_each_its_own_answer, a_name_that_was_not_given_comes_back,
                        a_request_that_cannot_be_is_refused, a_callback_is_what_its_service_sends,
                        a_callback_that_is_cut_short_is_refused_and_may_be_sent_again,
                        a_token_that_is_not_ours_is_as_a_step_that_there_is_not,
                        a_signal_without_an_answer_is_503_and_may_be_sent_again,
                        a_missing_exchange_is_named_and_disturbs_no_other_client, a_client_has_its_rate, the_secret_is_read_again,
                        the_contract_of_signals_is_kept], door, schedulers)
    finally:
        schedulers.end()


@scenario(schedulers=0, supervisors=0, agents=0)
def a_gateway_without_a_secret_takes_no_callback(s):
    apply(s)
    door = Gateway(s, tokens=[(RIGHTS, "shop", TOKENS["shop"])])
    door.process.wait_ready()
    assert door.call_back(token_of("o-1", "charge"))[0] == 404
    assert door.call_back(token_of("o-1", "charge", secret=""))[0] == 404
