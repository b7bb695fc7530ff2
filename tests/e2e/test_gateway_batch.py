"""Batches of the gateway: a submission a line, an answer a line in the same order, whatever else is in the batch."""

import http.client
import json
import socket
import threading
import uuid

from harness import scenario
from local import processes
from test_gateway import SOON_S, TOKENS, load, order_of, start

ADDRESS = "/v1/orders:batch"
LINES = "application/x-ndjson"


def batch(door, lines, client="shop", **headers):
    """The answers to a batch, bytes or a list of lines."""
    body = lines if isinstance(lines, bytes) else b"".join(line + b"\n" for line in lines)
    status, answer, data = door.ask("POST", ADDRESS, body, client=client, Content_Type=LINES, **headers)
    assert status == 200 and answer["Content-Type"] == LINES, (status, data)
    return [json.loads(line) for line in data.splitlines()]


def keyed(key, price=3):
    return f'{{"idempotency_key": "{key}", "workflow": "priced", "payload": {{"price": {price}, "customer": "17"}}}}'.encode()


def raw(door, *parts):
    """Sends a batch piece by piece, and returns all that comes back."""
    head = f"POST {ADDRESS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKENS['shop']}\r\nContent-Type: {LINES}\r\n"
    with socket.create_connection(("127.0.0.1", door.port), timeout=SOON_S) as line:
        line.sendall(f"{head}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n".encode())
        for part in parts:
            line.sendall(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        line.sendall(b"0\r\n\r\n")
        return line.makefile("rb").read()


@scenario(agents=1, schedulers=1, supervisors=1, long="others of its kind are quick")
def a_batch_means_the_same_as_its_lines_one_by_one(s):
    """Would catch: an answer that is missing, or another line's; a bad line that costs a good one; a batch that makes another order
    than a single post of the same bytes; a line or a batch without a limit."""
    load(s)
    door = start(s)
    first, one = order_of()
    _, other_price = order_of("15.00", order_id=first)
    second, two = order_of()
    lines = [one, b"{", two, b"", keyed("key-1"), b'{"workflow": "priced"}', b'{"order_id": "bad", "workflow": "nothing"}', other_price,
             one, b" \t\r", b'{"order_id": "x", "workflow": "priced", "payload": {"customer": "\xff"}}', b'{"order_id": "\x00"}', b"\x00",
             keyed("with blank"), b'{"idempotency_key": 5, "workflow": "priced"}', b"x" * 300000, b"null", b'"idempotency_key"',
             keyed("k" * 255), keyed("k" * 256), keyed("k" * 257), keyed("k" * 3000), keyed("key-2")]
    answers = batch(door, lines)
    statuses = [answer["status"] for answer in answers]
    assert statuses == [202, 400, 202, 202, 400, 422, 409, 202, 400, 400, 400, 400, 400, 413, 422, 422, 202, 400, 400, 400, 202], list(zip(statuses, answers))
    assert [answers[at]["order_id"] for at in (0, 2, 7)] == [first, second, first]
    assert all(answer["detail"] and answer["title"] for answer in answers if answer["status"] >= 400), answers

    plain = b'{"workflow": "priced", "payload": {"price": 3, "customer": "17"}}'
    assert door.post(plain, Idempotency_Key="key-1")["order_id"] == answers[3]["order_id"], "the same order by another way"
    trace = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
    for given, kept in ((trace, trace), ("cc" + trace[2:] + "-" + "x" * 300, trace), ("0" * 300, None)):
        single, line = order_of(), order_of()
        door.post(single[1], traceparent=given)
        assert batch(door, [line[1]], traceparent=given)[0]["status"] == 202, given
        for order_id in (single[0], line[0]):
            assert door.get(order_id)["state"] == "processed"
            row, = s.rows("SELECT traceparent FROM order_process WHERE order_id = %s", order_id)
            assert row["traceparent"] == kept, (given, row)
    for form in (b'{"workflow": "priced", "payload": {"price": 3, "customer": "17"}, "idempotency_key": "key-1"}',
                 b'{"workflow": "priced", "idempotency_key" : "key-1", "payload": {"price": 3, "customer": "17"}}'):
        (answer,) = batch(door, [form])
        assert answer["order_id"] == answers[3]["order_id"], "wherever the member stands"
    assert batch(door, [keyed("key-1", 4)])[0]["status"] == 409
    assert batch(door, [keyed("key-1")], client="other")[0]["order_id"] != answers[3]["order_id"], "a client's keys are its own"
    again = batch(door, [one + b"\r", keyed("key-1") + b"\r"])
    assert [answer["order_id"] for answer in again] == [answers[0]["order_id"], answers[3]["order_id"]], "CR LF ends a line, too"
    wide = b'{"workflow": "priced", "payload": {"price": 3, "customer": "%s"}}'
    wide = wide % (b"w" * (256 * 1024 + 1 - len(wide) + 2))
    assert len(wide) == 256 * 1024 + 1 and batch(door, wide)[0]["status"] == 413
    nested = {"order_id": str(uuid.uuid4()), "workflow": "priced", "payload": {"price": 1, "customer": '"idempotency_key": 1,'}}
    assert batch(door, json.dumps(nested).encode())[0]["status"] == 202, "a last line needs no end"
    for order_id in (first, second, answers[3]["order_id"], answers[-1]["order_id"], nested["order_id"]):
        assert door.get(order_id)["state"] == "processed"
    assert door.get(nested["order_id"])["labels"] == {"customer": nested["payload"]["customer"]}, "the payload is the client's own"

    many = [order_of() for _ in range(300)]
    answers = batch(door, [body for _, body in many])
    assert [answer["order_id"] for answer in answers] == [order_id for order_id, _ in many], "in the same order"
    assert door.ask("POST", ADDRESS, b"", Content_Type=LINES)[0] == 400
    late = order_of()
    answers = batch(door, [b"{}"] * 10000 + [late[1]])
    assert len(answers) == 10001 and answers[-1]["status"] == 413 and {answer["status"] for answer in answers[:-1]} == {422}, answers[-1]
    door.get(late[0], 404, wait=None)

    third, three = order_of()
    head = f"POST {ADDRESS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKENS['shop']}\r\nContent-Type: {LINES}\r\n"
    answer = raw(door, three[:20], three[20:], b"\n", b"y" * 5_000_000, b"y" * 5_000_000, b"\n" + three)
    assert answer.count(b'"status": 202') == 2 and answer.count(b'"status": 413') == 1, answer[-2000:]
    with socket.create_connection(("127.0.0.1", door.port), timeout=SOON_S) as line:  # two requests at once, without waiting
        line.sendall(f"{head}Content-Length: {len(three)}\r\n\r\n".encode() + three
                     + f"{head}Connection: close\r\nContent-Length: {len(three)}\r\n\r\n".encode() + three)
        assert line.makefile("rb").read().count(b'"status": 202') == 2
    assert door.get(third)["state"] == "processed"
    assert not s.client.get("orders.rejected")


@scenario(agents=1, schedulers=1, supervisors=1, long="others of its kind are quick")
def a_batch_waits_for_its_client_s_rate_and_is_bounded(s):
    """Would catch: a batch that passes by the rate, or is refused by it; more batches of a client than are allowed; a batch that
    hangs when its client goes away in the middle, or that posts half a line."""
    load(s)
    door = start(s, "--client-rate", "20")
    orders = [order_of() for _ in range(60)]
    assert {answer["status"] for answer in batch(door, [body for _, body in orders])} == {202}, "it waits"

    door = start(s)  # another one, because the batch has used up the rate of its client's requests
    head = (f"POST {ADDRESS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKENS['shop']}\r\nContent-Type: {LINES}\r\n"
            "Transfer-Encoding: chunked\r\n\r\n").encode()
    open_ones = []
    for _ in range(4):
        order_id, body = order_of()
        line = socket.create_connection(("127.0.0.1", door.port), timeout=SOON_S)
        part = body + b"\n" + body[:40]
        line.sendall(head + f"{len(part):x}\r\n".encode() + part + b"\r\n")
        open_ones.append((order_id, line))
    for order_id, _ in open_ones:
        s.wait(lambda order_id=order_id: s.rows("SELECT FROM orders WHERE order_id = %s", order_id), "a whole line is posted while the batch goes on")
    s.wait(lambda: door.ask("POST", ADDRESS, order_of()[1], Content_Type=LINES)[0] == 429, "too many batches")
    for _, line in open_ones:
        line.close()
    s.wait(lambda: door.ask("POST", ADDRESS, order_of()[1], Content_Type=LINES)[0] == 200, "there is room again")
    assert not s.client.get("orders.rejected"), "half a line is no line"


@scenario(agents=1, schedulers=2, supervisors=1)
def a_gateway_killed_amid_batches_loses_nothing_that_it_answered(s):
    """Would catch: an order that a batch was told of and that is lost, or made twice by the batch that is sent again."""
    load(s)
    door = start(s)
    batches = [[order_of() for _ in range(200)] for _ in range(4)]
    done = []

    def post(orders):
        def is_answered():
            try:
                answers = batch(door, [body for _, body in orders])
                return all(answer["status"] == 202 for answer in answers) and len(answers) == len(orders)
            except (OSError, http.client.HTTPException, AssertionError):
                return False  # it was killed; the next one begins soon
        processes.wait_until(is_answered, "the batch is answered", SOON_S * 2)
        done.append(orders)
    posters = [threading.Thread(target=post, args=(orders,)) for orders in batches]
    for poster in posters:
        poster.start()
    for share in (50, 300):
        s.wait(lambda share=share: s.rows("SELECT count(*) AS orders FROM orders")[0]["orders"] >= share, "some are there")
        door.process.kill()
        door.process.start()
    for poster in posters:
        poster.join()
    assert len(done) == len(batches)
    door.process.wait_ready()
    every = [order_id for orders in batches for order_id, _ in orders]
    s.wait(lambda: s.rows("SELECT count(*) AS ended FROM order_process WHERE process_state = 'processed'")[0]["ended"] == len(every),
           "each has ended")
    assert len(s.remote("payment").entries()) == len(every)
    assert not s.client.get("orders.rejected")
