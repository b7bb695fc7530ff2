"""A collector of OTLP/HTTP that accepts only valid bodies, by otlp.schema.json and by the protocol's rules that no schema can
express. A scenario can also make it busy, slow or silent.

With MAKEGOOD_TEST_OTLP_DECODER (tests/otlp/run) that program judges in place of the schema, by OpenTelemetry's own definitions. It
gets one body a line and answers "ok" or the fault.
"""

import http.server
import json
import os
import pathlib
import subprocess
import threading

import jsonschema

from local import processes

SCHEMA = jsonschema.Draft202012Validator(json.loads((pathlib.Path(__file__).parent / "otlp.schema.json").read_text(encoding="utf-8")))
SLOW_S = 0.5
BODY_MAX = 4 * 1024 * 1024  # the usual default of collectors

# A valid body, and for each part of it values that must be refused: a collector that accepts anything proves nothing.
RIGHT = """{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"test"}}]},
 "scopeSpans":[{"scope":{"name":"test"},"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331",
 "parentSpanId":"abababababababab","flags":1,"name":"POST","kind":3,"startTimeUnixNano":"1800000000123456000",
 "endTimeUnixNano":"1800000000123457000","attributes":[{"key":"n","value":{"intValue":"0"}}],"status":{"code":2}}]}]}]}"""
WRONG = [('"resourceSpans"', '"resource_spans"'), ('"spanId"', '"span_id"'), ('"b7ad6b7169203331"', '"t61rcWkgMzE="'),
         ('"b7ad6b7169203331"', '"b7ad6b71692033"'), ('"kind":3', '"kind":"SPAN_KIND_CLIENT"'), ('"kind":3', '"kind":3,"kid":3'),
         ('"1800000000123456000"', "1800000000123456000"), ('"intValue":"0"', '"intValue":0'), ('"intValue"', '"numberValue"'),
         ('"code":2', '"code":"STATUS_CODE_ERROR"'), ('"flags":1', '"flags":"1"'), ('"name":"POST"', '"name":5'),
         ('[{"key":"n","value":{"intValue":"0"}}]', '{"n":0}'), ("]}]}]}", "]}]}")]


def value_of(value):
    (kind, given), = value.items()
    return int(given) if kind == "intValue" else given


class Decoder:
    """Another program's verdict on each body."""

    def __init__(self, command):
        self.lock = threading.Lock()
        self.process = subprocess.Popen(command.split(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def wrong(self, body):
        with self.lock:
            self.process.stdin.write(body.decode().replace("\n", " ") + "\n")
            self.process.stdin.flush()
            word = self.process.stdout.readline().strip()
        return None if word == "ok" else word or "the decoder has ended"

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


class Span:
    """One span as it came, with its resource."""

    def __init__(self, raw, resource):
        self.trace, self.id, self.parent = raw["traceId"], raw["spanId"], raw.get("parentSpanId")
        self.name, self.kind = raw["name"], raw["kind"]
        self.begin, self.end = int(raw["startTimeUnixNano"]), int(raw["endTimeUnixNano"])
        self.attributes = {one["key"]: value_of(one["value"]) for one in raw.get("attributes", ())}
        self.is_error = raw.get("status", {}).get("code") == 2
        self.resource = resource

    def __repr__(self):
        return f"{self.name} {self.id} under {self.parent} {self.attributes}"


class Collector:
    """`mode`: good, 503 (with Retry-After: 0), slow (half a second per answer), silent (never answers). Half-open is a socket
    without an accept: the scenario makes it."""

    def __init__(self):
        self.port = processes.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.mode = "good"
        self.spans, self.faults, self.requests = [], [], 0
        self.closing = threading.Event()
        command = os.environ.get("MAKEGOOD_TEST_OTLP_DECODER")
        self.decoder = Decoder(command) if command else None
        assert self.fault_of(RIGHT.encode()) is None, self.fault_of(RIGHT.encode())
        for part, other in WRONG:
            assert self.fault_of(RIGHT.replace(part, other, 1).encode()), f"{other} would be taken for {part}"
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                collector.take(self)

            def log_message(self, *_args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, request):
        body = request.rfile.read(int(request.headers["Content-Length"]))
        self.requests += 1
        mode = self.mode
        if mode in ("silent", "slow"):
            self.closing.wait(SLOW_S if mode == "slow" else None)
        wrong = None if mode == "503" else self.wrong(request, body)
        if wrong:
            self.faults.append(f"{wrong}\n{body[:2000]}")
        status = 503 if mode == "503" else 400 if wrong else 200
        answer = b"{}"
        try:
            request.send_response(status)
            if status == 503:
                request.send_header("Retry-After", "0")
            request.send_header("Content-Type", "application/json")
            request.send_header("Content-Length", str(len(answer)))
            request.end_headers()
            request.wfile.write(answer)
        except OSError:
            pass  # the client has not waited

    def wrong(self, request, body):
        """Returns the fault of a request; if None, its spans are kept."""
        if request.path != "/v1/traces" or request.headers["Content-Type"] != "application/json":
            return f"{request.path} {request.headers['Content-Type']}"
        fault = self.fault_of(body)
        if fault:
            return fault
        for group in json.loads(body)["resourceSpans"]:
            resource = {one["key"]: value_of(one["value"]) for one in group["resource"]["attributes"]}
            if not resource.get("service.name"):
                return "no service.name"
            for scope in group["scopeSpans"]:
                for raw in scope["spans"]:
                    span = Span(raw, resource)
                    if span.begin > span.end or len(span.attributes) < len(raw.get("attributes", ())):
                        return f"{span}: ends before it begins, or names an attribute twice"
                    self.spans.append(span)
        return None

    def fault_of(self, body):
        """Returns the fault that a strict decoder, which refuses all unknown fields, finds in a body; None if it finds none."""
        if len(body) > BODY_MAX:
            return f"{len(body)} bytes"
        try:
            message = json.loads(body, object_pairs_hook=unique)
        except ValueError as error:
            return str(error)
        if self.decoder:  # only the decoder judges, so that the run shows that it refuses the same bodies as the schema
            return self.decoder.wrong(body)
        return next((f"{error.json_path}: {error.message}" for error in SCHEMA.iter_errors(message)), None)

    def of(self, trace):
        """The spans of one trace, by id. A span that came twice counts once (the second is the same, or lasts longer)."""
        return {span.id: span for span in self.spans if span.trace == trace}

    def check(self):
        assert not self.faults, "the collector was sent what it cannot take:\n" + "\n".join(self.faults)

    def close(self):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
        if self.decoder:
            self.decoder.close()


def unique(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return found
