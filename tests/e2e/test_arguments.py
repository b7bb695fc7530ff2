"""Each argument of each route of the gateway, with values that no client means: the table is made of proto/openapi.yaml."""

import concurrent.futures
import copy
import json
import re
import socket
import urllib.parse

import jsonschema
import yaml

from harness import scenario
from test_gateway import CONTRACT, TOKENS, load, order_of, start

ANSWER_S = 20  # a read of an order that is not there waits up to 5 s
AT_ONCE = 8
STEERS = re.compile("[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
OF_THE_LIBRARY = re.compile(rb"^<html><head><title>Request (too big|malformed)</title>")
TEXTS = {"nothing": b"", "a blank": b" ", "an escape sequence": b"\x1b[31mX\x07", "a C1 control": "\x9b".encode(), "a turn of direction": "a\u202e\u061cb".encode(),
         "no UTF-8": b"\xff\xfe", "a NUL": b"a\0b", "a line end": b"a\r\nX-Y: z", "1,000 letters": b"x" * 1000, "100,000 letters": b"x" * 100_000,
         "-1": b"-1", "NaN": b"NaN", "40 digits": b"9" * 40, "a format": b"%s%n", "half an escape": b"%zz%", "a quote": b"' OR 1=1; --", "a path": b"../../metrics",
         "a list": b"[]", "two commas": b",,"}
VALUES = {"null": None, "true": True, "5": 5, "-1": -1, "0.5": 0.5, "40 digits": 10**39, "nothing": "", "a blank": " ", "300 letters": "x" * 300,
          "300,000 letters": "x" * 300_000, "an escape sequence": "\x1b[31mX\x07", "a turn of direction": "a\u202eb", "a NUL": "a\0b", "a half": "\ud800",
          "a line end": "a\nb", "a list": [], "an object": {}, "depth": json.loads("[" * 60 + "]" * 60)}
BODIES = {"nothing": b"", "no JSON": b"{", "two values": b"{} {}", "a byte order mark": b"\xef\xbb\xbf{}", "UTF-16": "{}".encode("utf-16"), "no UTF-8": b'{"\xff": 1}',
          "50,000 levels": b"[" * 50_000, "NULs": b"\0" * 100, "a list": b"[]", "a number": b"5", "1 MB": b'{"a": "' + b"x" * 1_000_000 + b'"}'}
GOOD = {"order_id": "good-1", "Idempotency-Key": '"key-1"', "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "label": "customer=17",
        "state": "processed", "cursor": "", "wait": "10ms", "Last-Event-ID": "1", "after": "1",
        "signal": "approved", "key": "invoice/17", "token": "none"}


def request_of(method, target, headers=(), body=None):
    lines = [method.upper().encode() + b" " + target + b" HTTP/1.1", b"Host: gateway", b"Authorization: Bearer " + TOKENS["shop"].encode(), b"Connection: close"]
    if body is not None:
        lines += [b"Content-Type: " + (b"application/x-ndjson" if b":batch" in target else b"application/json"), b"Content-Length: %d" % len(body)]
    return b"\r\n".join([*lines, *headers, b"", b""]) + (body or b"")


def resolved(contract, node):
    reference = node.get("$ref")
    for name in reference.split("/")[1:] if reference else ():
        contract = contract[name]
    return contract if reference else node


def target_of(path, parameters, name="", value=b"", is_raw=False):
    """The path with one parameter's value, percent-encoded or as it is."""
    def shown(of):
        text = value if of == name else GOOD[of].encode()
        return text if is_raw and of == name else urllib.parse.quote(text, safe="").encode()

    target = re.sub(rb"\{(\w+)\}", lambda found: shown(found.group(1).decode()), path.encode())
    query = [of["name"].encode() + b"=" + shown(of["name"]) for of in parameters if of["in"] == "query" and (of["name"] in (name, "wait") or of.get("required"))]
    return target + (b"?" + b"&".join(query) if query else b"")


def table():
    """[(title, bytes of a request, whether it must be refused)]"""
    contract = yaml.safe_load(CONTRACT.read_text(encoding="utf-8"))
    found = []
    submission = json.loads((CONTRACT.parent / "submission.schema.json").read_text(encoding="utf-8"))
    judge = jsonschema.Draft202012Validator(submission)
    for path, item in contract["paths"].items():
        for method, operation in item.items():
            if method == "parameters":
                continue
            place = f"{method} {path}"
            parameters = [resolved(contract, one) for one in [*item.get("parameters", ()), *operation.get("parameters", ())]]
            good = b"{}" if "requestBody" in operation else None
            for parameter in parameters:
                for name, value in TEXTS.items():
                    title = f"{place} {parameter['name']}: {name}"
                    if parameter["in"] == "header":
                        header = parameter["name"].encode() + b": " + value
                        found.append((title, request_of(method, target_of(path, parameters), [header], good), False))
                        found.append((f"{title}, twice", request_of(method, target_of(path, parameters), [header, header], good), False))
                    else:
                        found.append((title, request_of(method, target_of(path, parameters, parameter["name"], value), (), good), False))
                        found.append((f"{title}, raw", request_of(method, target_of(path, parameters, parameter["name"], value, True), (), good), False))
            crowds = {"240 parameters": b"&x=b" * 240, "2,000 separators": b"&" * 2000, "a long one": b"x" * 17_000}
            found += [(f"{place}: {name}", request_of(method, target_of(path, parameters) + b"?x=b" + crowd, (), good), True) for name, crowd in crowds.items()]
            found.append((f"{place}: an unknown parameter", request_of(method, target_of(path, []) + b"?no_such_parametre=1", (), good), True))
            found.append((f"{place}: a long header", request_of(method, target_of(path, parameters), [b"X: " + b"b" * 17_000], good), True))
            found.append((f"{place}: a header of 15,000 bytes", request_of(method, target_of(path, parameters), [b"X: " + b"b" * 15_000], good), False))
            if "requestBody" in operation:
                found += [(f"{place}: {name}", request_of(method, target_of(path, parameters), (), body), method == "post" and path == "/v1/orders")
                          for name, body in BODIES.items()]
    for member in [*submission["properties"], "no_such_membre"]:
        for name, value in VALUES.items():
            order = copy.deepcopy(json.loads(order_of(order_id="good-2")[1])) | {member: value}
            is_wrong = not judge.is_valid(order) or "\0" in str(value) or name == "a half"
            found.append((f"post /v1/orders /{member}: {name}", request_of("post", b"/v1/orders", (), json.dumps(order).encode()), is_wrong))
            batch = json.dumps(order).encode() + b"\n"
            found.append((f"post /v1/orders:batch /{member}: {name}", request_of("post", b"/v1/orders:batch", (), batch), False))
    return found


def answer_of(port, data):
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S) as connection:
        connection.settimeout(ANSWER_S)
        try:
            connection.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has answered before the end of a body that is too large
        answer = b""
        try:
            while block := connection.recv(65536):
                answer += block
                if b"text/event-stream" in answer:
                    break  # it goes on for ever
        except ConnectionResetError:
            pass
        return answer


def faults_of(port, case):
    title, data, is_wrong = case
    try:
        answer = answer_of(port, data)
    except TimeoutError:
        return [f"{title}: no answer within {ANSWER_S} s"]
    match = re.match(rb"HTTP/1\.1 (\d{3})", answer)
    if not match:
        return [f"{title}: no answer: {answer[:100]!r}"]
    status, body = int(match.group(1)), answer.partition(b"\r\n\r\n")[2]
    if status >= 500 and status != 501:
        return [f"{title}: {status} {body[:300]!r}"]
    if is_wrong and status < 400:
        return [f"{title}: taken with {status}: {body[:200]!r}"]
    if status < 400:
        return []
    if OF_THE_LIBRARY.search(body):
        return []  # proto/openapi.yaml: it answers before the gateway has the request
    try:
        problem = json.loads(body)
        words = [problem["title"], problem["detail"]]
    except (ValueError, KeyError) as error:
        return [f"{title}: {status} without a problem document ({error!r}): {body[:200]!r}"]
    wrong = problem.get("status") != status or any(STEERS.search(word) or len(word) > 700 for word in words)
    return [f"{title}: {status} {problem!r}"[:500]] if wrong else []


@scenario(services=("payment",), long="each answer, right or argument in turn")
def each_argument_of_each_route_is_taken_or_refused(s):
    """Would catch: a crash, a hang or a status 500 by an argument; one that is taken for its default; a refusal without a reason, or
    that repeats an argument raw; a gateway that serves no longer."""
    load(s)
    gateway, cases = start(s, "--client-rate", "10000"), table()
    assert len(cases) > 600, len(cases)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        found = [fault for faults in pool.map(lambda case: faults_of(gateway.port, case), cases) for fault in faults]
    assert not found, f"{len(found)} of {len(cases)}:\n" + "\n".join(found)
    order_id, text = order_of()
    gateway.post(json.loads(text))
    assert gateway.get(order_id)["state"] == "processed"
    assert gateway.ask("GET", "/readyz", client=None)[0] == 200
