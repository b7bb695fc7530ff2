"""A receiver of webhooks, by Python's own hmac: none of Makegood's code."""

import base64
import collections
import hashlib
import hmac
import http.server
import json
import secrets
import threading
import time
import urllib.parse

from local import processes

TOLERANCE_S = 300  # of the time of a request, as Standard Webhooks recommends


def new_secret():
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def is_signed(secret, headers, body):
    """The check of Standard Webhooks 1.0."""
    at = headers["webhook-timestamp"]
    signed = f"{headers['webhook-id']}.{at}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    right = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return abs(time.time() - int(at)) < TOLERANCE_S and any(
        hmac.compare_digest(right, one) for one in headers["webhook-signature"].split())


class Receiver:
    """Takes statuses at a port of its own. `answer` decides over each: a status of HTTP, or None to be silent until `go` is set."""

    def __init__(self, secret):
        self.secret, self.port = secret, processes.free_port()
        self.answer = lambda status: 200
        self.taken, self.taken_of = [], collections.defaultdict(list)  # (id, status) as they came, also by order
        self.tries, self.faults, self.at_once, self.most_at_once = [], [], 0, 0
        self.go, self.lock = threading.Event(), threading.Lock()
        self.server = None
        self.begin()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/statuses"

    def begin(self):
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # pylint: disable=invalid-name
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = receiver.take(urllib.parse.urlsplit(self.path).path, self.headers, body)  # a proxy gets the absolute form
                if status is None:
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_words):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

        self.server = Server(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def end(self):
        """Nothing listens from now on."""
        self.go.set()
        self.server.shutdown()
        self.server.server_close()

    def take(self, path, headers, body):
        status = json.loads(body)
        with self.lock:
            if path != "/statuses" or headers["Content-Type"] != "application/json" or not is_signed(self.secret, headers, body):
                self.faults.append((path, dict(headers), body))
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            self.tries.append((time.monotonic(), headers["webhook-id"], status))
        answer = self.answer(status)
        if answer is None:
            self.go.wait(60)
        with self.lock:
            self.at_once -= 1
            if answer is not None and 200 <= answer < 300:
                self.taken.append((headers["webhook-id"], status))
                self.taken_of[status["order_id"]].append((headers["webhook-id"], status))
        return answer

    def seqs(self, order_id):
        """The `seq` of each status of an order that was taken, as they came."""
        with self.lock:
            return [status["seq"] for _, status in self.taken_of[order_id]]

    def assert_whole(self, order_id, expected):
        """Each status came at least once; the first copies in their order; equal ids mean equal statuses."""
        assert not self.faults, self.faults[:3]
        with self.lock:
            of_order = list(self.taken_of[order_id])
        first = list(dict.fromkeys(key for key, _ in of_order))
        statuses = dict(of_order)
        assert [statuses[key] for key in first] == expected, (of_order, expected)
        assert all(statuses[key] == status for key, status in of_order), of_order


def write_files(folder, lines):
    """The file of --webhooks-file, from (client, URL, secrets)."""
    text = ""
    for client, url, keys in lines:
        (folder / f"{client}.secrets").write_text("\n".join(keys) + "\n", encoding="ascii")
        text += f"{client} {url} {client}.secrets\n"
    path = folder / "webhooks"
    path.write_text(text, encoding="ascii")
    return path
