#!/usr/bin/python3
"""service_test.py MAKEGOOD SOURCE: `makegood service test` against real HTTP services, a good one and one wrong one for each promise.

Would catch: a promise that is called kept although the service breaks it, or broken for the fault of another; a call that an agent
would make otherwise; a secret in the answer; an audit that leaves an effect behind, or that does not end.
"""
import base64
import http.server
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

from jsonschema import Draft202012Validator

TOOL, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("MAKEGOOD_", "PG"))}
DONE, ERROR, USAGE, UNAVAILABLE = 0, 1, 2, 6
SCHEMA = json.loads((SOURCE / "proto/cli/service-test.schema.json").read_text(encoding="utf-8"))
PROMISES = SCHEMA["properties"]["promises"]["items"]["properties"]["promise"]["enum"]
SECRET = "sesame-open-sesame"
CLOSE_S = 0.05  # at most, until a server notices that it is closed


def as_json(status, value):
    return status, json.dumps(value).encode()


class Service:
    """A good service of keys: it answers a key as at first, finds it, and keeps a mark of an undone one. Its subclasses are wrong."""

    def __init__(self):
        self.calls, self.entries, self.lock = [], {}, threading.Lock()  # (method, path, headers, body); by key
        self.called, self.released = threading.Event(), threading.Event()
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # the name is the library's
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                with service.lock:
                    service.calls.append((self.command, self.path, dict(self.headers), body))
                    number = len(service.calls)
                service.called.set()
                status, text = service.answer(self.command, self.path, self.headers, body, number)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                try:
                    self.wfile.write(text)
                except OSError:
                    pass  # the tool has given up
            do_GET = do_DELETE = do_POST

            def log_message(self, *_words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(CLOSE_S,), daemon=True)
        self.thread.start()

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def answer(self, method, path, headers, body, _number):
        with self.lock:
            if method == "POST":
                return self.do(headers["Idempotency-Key"], body)
            key = path.rsplit("/", 1)[1]
            return self.verify(key) if method == "GET" else self.undo(key)

    def standing(self):
        return [key for key, entry in self.entries.items() if entry["state"] == "done"]

    def do(self, key, body):
        entry = self.entries.get(key)
        if entry is None:
            entry = self.entries[key] = {"state": "done", "body": body, "id": f"id-{len(self.entries)}"}
        if entry["state"] != "done":
            return as_json(422, {"error": {"code": "undone", "message": "it was undone"}})
        return as_json(201, {"id": entry["id"]})

    def verify(self, key):
        entry = self.entries.get(key)
        if entry is None or entry["state"] != "done":
            return as_json(404, {})
        return as_json(200, {"id": entry["id"]})

    def undo(self, key):
        self.entries.setdefault(key, {"id": None})["state"] = "undone"
        return as_json(200, {"state": "undone"})


class Refuses(Service):
    def do(self, key, body):
        return as_json(422, {"error": {"code": "SOLD_OUT", "message": "nothing is left"}})


class Forgets(Service):
    """Acts once more under the same key."""

    def do(self, key, body):
        status, text = super().do(key, body)
        if status == 201:
            self.entries[key]["id"] = f"id-{len(self.calls)}"
            return as_json(201, {"id": self.entries[key]["id"]})
        return status, text


class Conflicts(Service):
    def do(self, key, body):
        return as_json(409, {}) if key in self.standing() else super().do(key, body)


class FindsNothing(Service):
    def verify(self, key):
        return as_json(404, {})


class FindsAll(Service):
    def verify(self, key):
        return super().verify(key) if key in self.entries else as_json(200, {"id": "?"})


class RefusesUndo(Service):
    """Undoes, and answers that it does not."""

    def undo(self, key):
        is_done = key in self.standing()
        answer = super().undo(key)
        return as_json(422, {}) if is_done else answer


class ShowsUndone(Service):
    def verify(self, key):
        entry = self.entries.get(key)
        return as_json(200, {"state": entry["state"]}) if entry else as_json(404, {})


class UndoesOnce(Service):
    def undo(self, key):
        is_again = self.entries.get(key, {}).get("state") == "undone"
        return as_json(422, {}) if is_again else super().undo(key)


class ForgetsUndo(Service):
    """Deletes an undone key, so a late do acts again."""

    def undo(self, key):
        if key in self.standing():
            del self.entries[key]
            return as_json(204, "")[0], b""
        return super().undo(key)


class Repeats(Service):
    """Answers an undone key as at first, and does not act."""

    def do(self, key, body):
        status, text = super().do(key, body)
        return as_json(201, {"id": self.entries[key]["id"]}) if status == 422 else (status, text)


class ActsBehindUndo(Service):
    """Refuses an undone key, and acts."""

    def do(self, key, body):
        answer = super().do(key, body)
        self.entries[key]["state"] = "done"
        return answer


class RefusesUnknownUndo(Service):
    def undo(self, key):
        return super().undo(key) if key in self.entries else as_json(400, {})


class KeepsNoMark(Service):
    def undo(self, key):
        return super().undo(key) if key in self.entries else as_json(404, {})


class AnswersTooMuch(Service):
    def do(self, key, body):
        status, text = super().do(key, body)
        return (status, json.dumps({"id": 1, "more": "x" * 70000}).encode()) if status == 201 else (status, text)


class SlowOnce(Service):
    """The first verify of a done key comes behind its time, the next in time."""

    was_slow = False

    def answer(self, method, path, headers, body, number):
        if method == "GET" and self.standing() and not self.was_slow:
            self.was_slow = True
            self.released.wait(30)
        return super().answer(method, path, headers, body, number)


class Silent(Service):
    def answer(self, method, path, headers, body, number):
        self.released.wait(30)
        return as_json(503, {})


class Accepts(Service):
    """Works on a do for three polls."""

    polls = 0

    def do(self, key, body):
        status, text = super().do(key, body)
        return (202, b"{}") if status == 201 and self.polls < 3 else (status, text)

    def verify(self, key):
        status, text = super().verify(key)
        if status == 200:
            self.polls += 1
        return (202, b"{}") if status == 200 and self.polls < 3 else (status, text)


class ByBody(Service):
    """Answers all with 200 and has the outcome in the body."""

    def do(self, key, body):
        status, text = super().do(key, body)
        return as_json(200, {"state": "DONE", **json.loads(text)} if status == 201 else {"state": "REFUSED", "code": "undone"})

    def verify(self, key):
        status, text = super().verify(key)
        return as_json(200, {"state": "DONE", **json.loads(text)} if status == 200 else {"state": "REFUSED"})


class Echoes(Service):
    """Repeats the credential of the call in each answer."""

    def answer(self, method, path, headers, body, number):
        status, text = super().answer(method, path, headers, body, number)
        return as_json(status, {**json.loads(text), "message": "you are " + headers["Authorization"], "n": number})


class ById(Service):
    """Undoes by the id that the do gave out."""

    def undo(self, key):
        found = [name for name, entry in self.entries.items() if entry["id"] == key]
        return super().undo(found[0]) if found else as_json(404, {})


class Tokens(Service):
    """A token endpoint, and a service that refuses the first token."""

    def answer(self, method, path, headers, body, number):
        if path == "/token":
            with self.lock:
                given = sum(call[1] == "/token" for call in self.calls)
            return as_json(200, {"access_token": f"token-{given}", "token_type": "Bearer", "expires_in": 60})
        if headers["Authorization"] != "Bearer token-2":
            return as_json(401, {})
        return super().answer(method, path, headers, body, number)


class ServiceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, kind):
        service = kind()
        self.addCleanup(service.close)
        return service

    def file(self, name, value):
        path = self.folder / name
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
        return path

    def service_file(self, **members):
        return self.file("service.json", {"service": "shop", "url": "http://127.0.0.1:1", "try_backoff": "1ms", **members})

    def words(self, url, *words, members=None):
        return [TOOL, "service", "test", url, "--service", str(self.service_file(**(members or {}))), *map(str, words)]

    def run_text(self, url, *words, code, members=None):
        done = subprocess.run(self.words(url, *words, members=members), capture_output=True, text=True, timeout=100, check=False,
                              env=ENVIRONMENT)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def audit(self, service, *words, path="/things", code=ERROR, members=None):
        """(the answer, {promise: verdict}); the answer has its schema."""
        done = self.run_text(service.url + path, *words, "-o", "json", code=code, members=members)
        found = json.loads(done.stdout)
        faults = [error.message[:300] for error in Draft202012Validator(SCHEMA).iter_errors(found)]
        self.assertEqual(faults, [])
        verdicts = {each["promise"]: each["verdict"] for each in found["promises"]}
        self.assertEqual([found[word] for word in ("kept", "broken", "not_shown")],
                         [list(verdicts.values()).count(word) for word in ("kept", "broken", "not_shown")])
        return found, verdicts

    def calls(self, found):
        return {call["call"]: call for call in found["calls"]}

    def test_a_good_service_keeps_all(self):
        service = self.start(Service)
        found, verdicts = self.audit(service, "--payload", '{"amount": 14.00}', code=DONE)
        self.assertEqual(verdicts, dict.fromkeys(PROMISES, "kept"))
        self.assertEqual((found["advice"]["on_unknown"], found["advice"]["at_most_once"], found["advice"]["notes"]), ("verify", False, []))
        self.assertEqual(service.standing(), [])
        bodies = {call[3] for call in service.calls if call[0] == "POST"}
        self.assertEqual(bodies, {b'{"amount": 14.00}'})  # the same bytes each time
        keys = [call[2]["Idempotency-Key"] for call in service.calls if call[0] == "POST"]
        self.assertEqual((len(keys), len(set(keys))), (4, 2))
        self.assertEqual(self.calls(found)["do"]["key"], keys[0])
        self.assertEqual(service.calls[1][2]["X-Makegood-Order"], found["orders"] + "-1")
        self.assertEqual({call[1] for call in service.calls if call[0] == "POST"}, {"/things"})

    def test_each_wrong_service_breaks_its_promise_and_no_other(self):
        for kind, promise, text in (
                (Refuses, "do", "do answered 422, which counts as permanent (http_422/SOLD_OUT)"),
                (Forgets, "replay", "/id is"),
                (Conflicts, "replay", "\"409\": \"done\""),
                (FindsNothing, "verify", "verify answered 404, which counts as absent"),
                (FindsAll, "absent", "verify_unknown answered 200"),
                (RefusesUndo, "undo", "undo answered 422"),
                (UndoesOnce, "undo_again", "undo_again answered 422"),
                (ForgetsUndo, "stays_undone", "do_late answered 201, which counts as done, and verify finds its effect"),
                (RefusesUnknownUndo, "undo_first", "undo_first answered 400"),
                (KeepsNoMark, "tombstone", "do_behind answered 201, which counts as done, and verify finds its effect"),
                (AnswersTooMuch, "answers", "too large"),
                (SlowOnce, "time", "verify got no answer within 2000 ms"),
        ):
            with self.subTest(kind.__name__):
                service = self.start(kind)
                found, verdicts = self.audit(service, members={"try_timeout": "2s"} if kind is SlowOnce else None)
                self.assertEqual([name for name, verdict in verdicts.items() if verdict == "broken"], [promise], found["promises"])
                why = next(each["why"] for each in found["promises"] if each["promise"] == promise)
                self.assertIn(text, why)
                self.assertEqual(service.standing(), [])  # also a wrong effect is undone

    def test_consequences_for_the_step(self):
        for kind, on_unknown, at_most_once, note in (
                (Forgets, "verify", True, None), (FindsNothing, "retry", False, None), (Refuses, "operator", True, None),
                (RefusesUndo, "verify", False, "pivot"), (KeepsNoMark, "verify", False, "3 s"),
                (RefusesUnknownUndo, "verify", False, "never arrived"), (SlowOnce, "verify", False, "try_timeout")):
            with self.subTest(kind.__name__):
                found, _ = self.audit(self.start(kind), members={"try_timeout": "2s"} if kind is SlowOnce else None)
                advice = found["advice"]
                self.assertEqual((advice["on_unknown"], advice["at_most_once"]), (on_unknown, at_most_once))
                self.assertEqual([note in text for text in advice["notes"]], [True] if note else [])

    def test_an_undone_key_that_is_shown_is_not_absent(self):
        _, verdicts = self.audit(self.start(ShowsUndone))
        self.assertEqual({name for name, verdict in verdicts.items() if verdict == "broken"}, {"undo", "stays_undone", "tombstone"})

    def test_the_verify_behind_a_late_do_decides(self):
        _, verdicts = self.audit(self.start(Repeats), code=DONE)
        self.assertEqual(verdicts, dict.fromkeys(PROMISES, "kept"))
        service = self.start(ActsBehindUndo)
        _, verdicts = self.audit(service)
        self.assertEqual({name for name, verdict in verdicts.items() if verdict == "broken"}, {"stays_undone", "tombstone"})
        self.assertEqual((verdicts["undo_again"], service.standing()), ("not_shown", []))

    def test_a_report_for_people(self):
        done = self.run_text(self.start(KeepsNoMark).url + "/things/", code=ERROR)
        self.assertRegex(done.stdout, r"\n  undo_first +404, absent +\d+ ms\n")
        self.assertRegex(done.stdout, r"\nkept +undo_first +undo_first answered 404, which counts as absent\n")
        self.assertRegex(done.stdout, r"\nBROKEN +tombstone +do_behind answered 201")
        self.assertIn("\non_unknown: verify: ", done.stdout)
        self.assertIn("\n10 kept, 1 broken, 0 not shown\n", done.stdout)
        self.assertIn("with real effects", done.stderr)

    def test_accepted_work_is_polled(self):
        service = self.start(Accepts)
        found, verdicts = self.audit(service, code=DONE)
        self.assertEqual(verdicts, dict.fromkeys(PROMISES, "kept"))
        self.assertGreaterEqual(self.calls(found)["do"]["answer"]["polls"], 2)
        self.assertIn("finish_within", found["advice"]["notes"][0])

    def test_work_that_is_not_done_in_time_is_not_shown(self):
        class Never(Accepts):
            polls = -1000000
        found, verdicts = self.audit(self.start(Never), "--timeout", "1500ms", code=DONE)
        self.assertEqual(verdicts["do"], "not_shown")
        self.assertIn("--timeout", next(each["why"] for each in found["promises"] if each["promise"] == "do"))

    def workflow(self, **members):
        step = {"step": "buy", "service": "shop", "retry": {"attempts": 1},
                "do": {"method": "POST", "path": "/a/things", "body": {"for": "${/payload/name}", "of": "${/results/ask/id}"}},
                "verify": {"method": "GET", "path": "/a/things/${/do_key}"},
                "undo": {"method": "DELETE", "path": "/a/things/${/do_key}"}, **members}
        ask = {"step": "ask", "service": "other", "do": {"method": "POST", "path": "/q"}, "undo": "none"}
        return self.file("workflow.json", {"workflow": "w", "version": 1, "steps": [ask, step]})

    def test_a_step_of_a_workflow(self):
        service = self.start(Service)
        values = ("--payload", '{"name": "Ada"}', "--results", '{"ask": {"id": 7.0}}')
        found, verdicts = self.audit(service, "--workflow", self.workflow(), *values, path="", code=DONE)
        self.assertEqual(verdicts, dict.fromkeys(PROMISES, "kept"))
        self.assertEqual(json.loads(service.calls[1][3]), {"for": "Ada", "of": 7.0})
        self.assertIn(b"7.0", service.calls[1][3])
        self.assertEqual((found["workflow"], found["step"]), ("w", "buy"))
        dated = {"do": {"method": "POST", "path": "/a/things", "body": {"at": "${= order.accepted_at}"}}}
        service = self.start(Service)
        self.audit(service, "--workflow", self.workflow(**dated), *values, path="", code=DONE)
        moments = [json.loads(call[3])["at"] for call in service.calls if call[0] == "POST"]
        self.assertGreater(len(moments), 2)
        self.assertEqual(len(set(moments)), 1, moments)
        self.assertGreater(moments[0], "2026")
        missing = self.run_text(service.url, "--workflow", self.workflow(), *values[:2], code=USAGE)
        self.assertIn("/results/ask/id", missing.stderr)

    def test_conditions_give_answers_their_meaning(self):
        conditions = {"done_when": "result.state == 'DONE'", "refused_when": "result.state == 'REFUSED'"}
        values = ("--payload", '{"name": "Ada"}', "--results", '{"ask": {"id": 7}}')
        _, verdicts = self.audit(self.start(ByBody), "--workflow", self.workflow(**conditions), *values, path="", code=DONE)
        self.assertEqual(verdicts, dict.fromkeys(PROMISES, "kept"))
        _, verdicts = self.audit(self.start(ByBody), "--workflow", self.workflow(), *values, path="")
        self.assertEqual(verdicts["absent"], "broken")

    def test_a_step_without_verify_or_undo(self):
        values = ("--payload", '{"name": "Ada"}', "--results", '{"ask": {"id": 7}}')
        workflow = self.workflow(undo="none")
        text = json.loads(workflow.read_text(encoding="utf-8"))
        del text["steps"][1]["verify"]
        service = self.start(Service)
        found, verdicts = self.audit(service, "--workflow", self.file("workflow.json", text), *values, path="", code=DONE)
        self.assertEqual({name for name, verdict in verdicts.items() if verdict == "kept"}, {"do", "replay", "answers", "time"})
        self.assertEqual(found["advice"]["on_unknown"], "retry")
        self.assertEqual(len(service.calls), 2)

    def test_an_undo_by_the_id_that_was_given_out(self):
        values = ("--payload", '{"name": "Ada"}', "--results", '{"ask": {"id": 7}}')
        workflow = self.workflow(learn="repeat", undo={"method": "DELETE", "path": "/a/things/${/results/buy/id}"})
        service = self.start(ById)
        found, verdicts = self.audit(service, "--workflow", workflow, *values, path="", code=DONE)
        self.assertEqual({name: verdicts[name] for name in ("undo", "undo_again", "undo_first", "tombstone")},
                         {"undo": "kept", "undo_again": "kept", "undo_first": "not_shown", "tombstone": "not_shown"})
        self.assertIn("/results/buy/id", self.calls(found)["undo_first"]["not_made"])

    def test_an_agents_tries_and_rules_count(self):
        class Busy(Service):
            def answer(self, method, path, headers, body, number):
                return as_json(503, {}) if number % 2 else super().answer(method, path, headers, body, number)
        found, _ = self.audit(self.start(Busy), code=DONE)
        self.assertEqual({call["answer"]["tries"] for call in found["calls"] if call["answer"]}, {2})
        _, verdicts = self.audit(self.start(Conflicts), members={"answers": {"409": "done"}})
        self.assertEqual(verdicts["replay"], "broken")  # the answer has no id: it is another one
        done = self.run_text(self.start(Busy).url, members={"tries": 1}, code=ERROR)
        self.assertIn("http_503", done.stdout)

    def test_no_secret_is_shown(self):
        secret = self.file("secret", SECRET)
        for auth in ({"bearer": {"file": str(secret)}}, {"basic": {"user": "shop", "password": {"file": str(secret)}}}):
            service = self.start(Echoes)
            for form in ("json", "table"):
                done = self.run_text(service.url, "-o", form, code=ERROR, members={"auth": auth})
                self.assertNotIn(SECRET, done.stdout + done.stderr)
                self.assertNotIn(base64.b64encode(f"shop:{SECRET}".encode()).decode(), done.stdout + done.stderr)
            self.assertIn("*" * 8, self.run_text(service.url, "-o", "json", code=ERROR, members={"auth": auth}).stdout)

    def test_a_refused_token_is_renewed(self):
        service = self.start(Tokens)
        auth = {"oauth2": {"token_url": service.url + "/token", "client_id": "c", "client_secret": {"file": str(self.file("secret", SECRET))}}}
        found, verdicts = self.audit(service, members={"auth": auth}, code=DONE)
        self.assertEqual(verdicts, dict.fromkeys(PROMISES, "kept"))
        self.assertEqual(sum(call[1] == "/token" for call in service.calls), 2)
        self.assertEqual(self.calls(found)["verify_unknown"]["answer"]["tries"], 1)  # the try was repeated
        auth["oauth2"]["token_url"] = "http://127.0.0.1:1/token"
        self.assertIn("no access token", self.run_text(service.url, members={"auth": auth}, code=UNAVAILABLE).stderr)

    def test_a_dry_run_makes_no_call(self):
        service = self.start(Service)
        done = self.run_text(service.url + "/things", "--dry-run", code=DONE)
        self.assertIn(f"POST {service.url}/things\n", done.stdout)
        self.assertRegex(done.stdout, rf"undo_first +DELETE {service.url}/things/by-key/service-test-\w+-2\.test\.do\n")
        found, verdicts = self.audit(service, "--dry-run", code=DONE)
        self.assertEqual((service.calls, verdicts, found["advice"]), ([], {}, None))

    def test_bad_input_is_refused_with_its_cause(self):
        service = self.start(Service)
        for words, text in ((["--payload", "{"], "--payload:"), (["--payload", "/nonexistent"], "/nonexistent"),
                            (["--step", "buy"], "--workflow"), (["--workflow", self.workflow(), "--step", "x"], "no step x"),
                            (["--results", "[1"], "--results:"), (["--workflow", self.file("none.json", "{}")], "none.json"),
                            (["--service", self.file("bad.json", '{"service": "shop"}')], '"url" is missing')):
            with self.subTest(words):
                self.assertIn(text, self.run_text(service.url, *words, code=USAGE).stderr)
        for url in ("ftp://host", "http://", "http://u:p@127.0.0.1/", "http://127.0.0.1/a?b", "x"):
            with self.subTest(url):
                self.run_text(url, code=USAGE)
        self.assertEqual(service.calls, [])
        done = subprocess.run([TOOL, "service", "test", service.url], capture_output=True, text=True, timeout=60, check=False, env=ENVIRONMENT)
        self.assertEqual((done.returncode, "--service FILE" in done.stderr), (USAGE, True))

    def test_a_service_that_is_not_there(self):
        self.assertIn("could not call http://127.0.0.1:1:", self.run_text("http://127.0.0.1:1", code=UNAVAILABLE).stderr)

    def test_a_silent_service_ends_the_test_in_time(self):
        service = self.start(Silent)
        _, verdicts = self.audit(service, "--timeout", "400ms", members={"tries": 1})
        self.assertEqual((verdicts["do"], verdicts["time"]), ("broken", "broken"))

    def test_control_c_ends_it(self):
        service = self.start(Silent)
        running = subprocess.Popen(self.words(service.url, "--timeout", "10m"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
        with running:
            self.assertTrue(service.called.wait(60))
            running.send_signal(signal.SIGINT)
            running.communicate(timeout=60)
            self.assertEqual(running.returncode, -signal.SIGINT)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
