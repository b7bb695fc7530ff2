"""Heads of requests that a proxy reads in another way than the HTTP library: gateway and console refuse each, and serve no rest of it."""

import socket

import test_console
import test_gateway
from harness import scenario

SOON_S = 10
REST = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
FORMS = {
    "a blank before the colon": b"X-Field : a",
    "a tab before the colon": b"X-Field\t: a",
    "a second length behind a blank": b"Content-Length : 7",
    "a transfer coding behind a blank": b"Transfer-Encoding : chunked",
    "a folded transfer coding": b"Transfer-Encoding:\r\n chunked",
    "a folded line": b"X-Field: a\r\n b",
    "a folded line that is a coding": b"X-Field: a\r\n\tTransfer-Encoding: chunked",
    "no colon": b"X-Field",
    "no name": b": a",
    "a NUL in a value": b"X-Field: a\0b",
    "a NUL at the end": b"X-Field: a\0",
    "a NUL in a name": b"X-Fi\0eld: a",
    "a bare CR in a value": b"X-Field: a\rContent-Length: 7",
    "a bare CR at the end": b"X-Field: a\r",
    "a blank before the name": b" X-Field: a",
}


def answers(port, request):
    """All that comes until the connection ends."""
    with socket.create_connection(("127.0.0.1", port), timeout=SOON_S) as line:
        line.sendall(request)
        found = b""
        try:
            while data := line.recv(65536):
                found += data
        except ConnectionResetError:
            pass  # with the rest unread
        return found


@scenario()
def a_head_of_a_wrong_form_is_refused_and_no_rest_of_it_is_served(s):
    """Would catch: a rest of a body that is another client's next request, behind a proxy that sees another end of the body."""
    test_gateway.load(s)
    _, body = test_gateway.order_of()
    shop = f"Authorization: Bearer {test_gateway.TOKENS['shop']}".encode()
    doors = {"gateway": (test_gateway.start(s).port, b"POST /v1/orders", shop + b"\r\nContent-Type: application/json", body),
             "console": (test_console.Console(s).port, b"GET /login", b"X-Own: a", b"")}
    for name, (port, line, own, content) in doors.items():
        host, length = f"localhost:{port}".encode(), b"Content-Length: %d" % len(content)

        def ask(form, line=line, own=own, port=port, content=content, host=host, length=length):
            return answers(port, b"\r\n".join((line + b" HTTP/1.1", b"Host: " + host, form, own, length, b"", content + REST)))

        found = ask(b"X-Field: a")
        assert found.startswith(b"HTTP/1.1 20") and found.count(b"HTTP/1.1 ") == 2, f"{name}: {found[:300]!r}"
        for title, form in FORMS.items():
            found = ask(form)
            assert found.startswith(b"HTTP/1.1 400 "), f"{name}, {title}: {found[:200]!r}"
            assert found.count(b"HTTP/1.1 ") == 1, f"{name}, {title}: {found[:900]!r}"
