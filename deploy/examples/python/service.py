#!/usr/bin/python3
"""A service that keeps every promise of `makegood service test`. Usage: service.py PORT [DATABASE]"""
import http.server
import json
import re
import sqlite3
import sys
import threading
import urllib.parse

PATH = re.compile(r"/(reservations|charges|mails)(?:/by-key/([^/]+))?")  # add your own things here
DATABASE = sqlite3.connect(sys.argv[2] if len(sys.argv) > 2 else "service.db", check_same_thread=False)
DATABASE.execute("CREATE TABLE IF NOT EXISTS effect (key TEXT PRIMARY KEY, answer TEXT)")  # no answer: the key is undone
LOCK = threading.Lock()  # one call at a time: key and effect are one transaction


def find(key):  # GET /THINGS/by-key/KEY: did it happen?
    row = DATABASE.execute("SELECT answer FROM effect WHERE key = ?", (key,)).fetchone()
    return (200, json.loads(row[0])) if row and row[0] else (404, {})


def perform(things, key, body):  # POST /THINGS: the effect, once for each key
    if things == "charges" and body["amount"] > 100:
        return 422, {"code": "card_declined", "message": "the card is declined"}
    DATABASE.execute("INSERT OR IGNORE INTO effect VALUES (?, ?)", (key, json.dumps({"id": f"{things}-{key}"})))
    status, answer = find(key)  # a repeated key has its first answer
    return (201, answer) if status == 200 else (410, {"code": "undone", "message": "this key is undone"})


def undo(key):  # DELETE /THINGS/by-key/KEY: undone, also if it never came; a late POST finds the mark
    DATABASE.execute("INSERT OR REPLACE INTO effect VALUES (?, NULL)", (key,))
    return 200, {}


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, text):  # a call that is not one of these three is refused
        match, sent = PATH.fullmatch(self.path), self.headers["Idempotency-Key"]
        if match is None:
            return 404, {"code": "unknown_path", "message": self.path}
        call, things, key = (self.command, match[2] is not None), match[1], urllib.parse.unquote(match[2] or "")
        if call == ("POST", False):
            return perform(things, sent, json.loads(text)) if sent else (400, {"code": "no_key"})
        known = {("GET", True): find, ("DELETE", True): undo}
        return known[call](key) if call in known else (405, {"code": "unknown_method", "message": self.command})

    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"] or 0))
        with LOCK, DATABASE:
            status, members = self.answer(text)
        text = json.dumps(members).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_DELETE = do_PUT = do_PATCH = do_POST


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Service).serve_forever()
