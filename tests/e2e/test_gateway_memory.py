"""Memory of gateway and console: what costs nothing without a token, and what has a bound with one."""

import hashlib
import json
import socket

from harness import scenario
from local import processes
from test_gateway import SOON_S, TOKENS, Gateway, load, logged, order_of, start

BODY = 200 * 1024


def begin(port, path, token=None, size=BODY, sent=0, more=""):
    """A request of which the body does not end: the open connection."""
    line = socket.create_connection(("127.0.0.1", port), timeout=SOON_S)
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n{more}"
    head += f"Authorization: Bearer {token}\r\n" if token else ""
    line.sendall(head.encode() + b"\r\n" + b"x" * sent)
    return line


def status(line):
    """That of the answer, which comes before the end of the body."""
    return int(line.makefile("rb").readline().split()[1])


@scenario()
def a_request_without_a_token_is_refused_at_its_head(s):
    """Would catch: bodies that are kept for nobody, in gateway and console."""
    load(s)
    door = start(s, tokens=[("read", "shop", TOKENS["shop"]), ("submit", "other", TOKENS["other"])])
    places = ["/v1/orders", "/v1/orders:batch", "/v1/orders/one/cancel"]
    for path in places:
        for token, expected in ((None, 401), ("no token of anyone", 401), (TOKENS["shop"], 403)):
            with begin(door.port, path, token) as line:
                assert status(line) == expected, (path, token)
    with begin(door.port, "/v1/nothing") as line:
        assert status(line) == 404
    with begin(door.port, "/v1/orders", more="Expect: 100-continue\r\n") as line:
        assert status(line) == 401, "no client is asked for a body that is not read"
    with begin(door.port, "/v1/orders", TOKENS["other"], more="Expect: 100-continue\r\n") as line:
        assert status(line) == 100
    assert len(logged(door, "unknown token")) == len(places), "each is logged once"

    tokens = s.scratch / "console-tokens"
    tokens.write_text(f"operator otto {hashlib.sha256(b'a token of otto').hexdigest()}\n", encoding="ascii")
    port = processes.free_port()
    console = processes.Process("console", [s.cluster.bin / "makegood", "console", "--listen", f"127.0.0.1:{port}", "--tokens-file",
                                            tokens], s.scratch / "console.log", http_port=port, env={**s.cluster.env, **s.cluster.tool_env})
    s.others.append(console)
    console.start().wait_ready()
    with begin(port, "/api/v1/orders/one/cancel", size=60000) as line:
        assert status(line) == 401
    with begin(port, "/api/v1/login", size=60000) as line:
        assert status(line) == 413, "a token is short"
    with socket.create_connection(("127.0.0.1", port), timeout=SOON_S) as line:
        line.sendall(f"POST /api/v1/login HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n".encode() +
                     b"Transfer-Encoding: chunked\r\n\r\n10000\r\n" + b"x" * 65536)
        s.wait(lambda: console.metric("makegood_http_held_bytes") is not None, "the console has metrics")
        assert console.metric("makegood_http_held_bytes") <= 4096, "nor is a login without a length kept"
        line.sendall(b"\r\n0\r\n\r\n")
        assert status(line) == 413


@scenario()
def bodies_have_their_share_of_the_memory(s):
    """Would catch: bodies without a common bound; a share that stays used after its bodies have gone."""
    load(s)
    door = Gateway(s, "--memory-budget", str(16 * 1024 * 1024))
    s.cluster.tool("broker", "apply", "--client", "shop")
    door.process.wait_ready()
    held = [begin(door.port, "/v1/orders", TOKENS["shop"], sent=BODY - 1) for _ in range(20)]
    s.wait(lambda: (door.process.metric("makegood_http_held_bytes") or 0) >= 20 * (BODY - 1), "the bodies are there")
    for line in held:
        line.settimeout(0.1)
    order_id, body = order_of()
    door.post(body)
    with begin(door.port, "/v1/orders", TOKENS["shop"], size=256 * 1024) as line:
        assert status(line) == 503
    seen, _, data = door.ask("POST", "/v1/orders", iter([b"x" * 65536] * 4))
    assert seen == 503, "without a length it is seen later: " + data.decode()
    for line in held:
        line.close()
    s.wait(lambda: door.process.metric("makegood_http_held_bytes") == 0, "they are gone")
    assert json.loads(door.ask("POST", "/v1/orders", order_of()[1] + b" " * BODY)[2])["order_id"]
    assert door.get(order_id)["state"] == "processed"
