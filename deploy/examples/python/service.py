#!/usr/bin/python3
"""A service that keeps every promise of `makegood service test`. Usage: service.py PORT [DATABASE]"""
import http.server
import json
import sqlite3
import sys
import threading
import urllib.parse

DATABASE = sqlite3.connect(sys.argv[2] if len(sys.argv) > 2 else "service.db", check_same_thread=False)
DATABASE.execute("CREATE TABLE IF NOT EXISTS effect (key TEXT PRIMARY KEY, answer TEXT)")  # no answer: the key is undone
LOCK = threading.Lock()  # one call at a time: key and effect are one transaction


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):  # POST /THINGS: the effect, once for each key
        key, body = self.headers["Idempotency-Key"], json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/charges" and body["amount"] > 100:
            return self.reply(422, {"code": "card_declined", "message": "the card is declined"})
        with LOCK, DATABASE:
            DATABASE.execute("INSERT OR IGNORE INTO effect VALUES (?, ?)", (key, json.dumps({"id": f"{self.path[1:]}-{key}"})))
            answer = self.find(key)  # a repeated key has its first answer
        return self.reply(201, answer) if answer else self.reply(410, {"code": "undone", "message": "this key is undone"})

    def do_GET(self):  # GET /THINGS/by-key/KEY: did it happen?
        with LOCK:
            answer = self.find(self.key())
        self.reply(200 if answer else 404, answer or {})

    def do_DELETE(self):  # DELETE /THINGS/by-key/KEY: undone, also if it never came; a late POST finds the mark
        with LOCK, DATABASE:
            DATABASE.execute("INSERT OR REPLACE INTO effect VALUES (?, NULL)", (self.key(),))
        self.reply(200, {})

    def key(self):
        return urllib.parse.unquote(self.path.rsplit("/", 1)[1])

    def find(self, key):
        row = DATABASE.execute("SELECT answer FROM effect WHERE key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row and row[0] else None

    def reply(self, status, members):
        text = json.dumps(members).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Service).serve_forever()
