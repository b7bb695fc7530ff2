"""A proxy between Makegood's processes and PostgreSQL that has chosen statements fail.

A statement is known by the name under which it is prepared. The proxy replaces its Bind by one of `SELECT matrix_fail('CODE')`, so the
server itself raises the error: transaction, pipeline and session are then exactly as after a real one. A rule is for all executions
of a statement, or for those with a mark in a parameter, for example an order's id.
"""

import collections
import re
import socket
import struct
import threading

from local import processes

HANG = "hang"
EVERY = "*"
HANG_S = 60  # longer than any time limit of a statement
SESSION = {"set_up_session", "check_server", "check_schema", "identify_backend"}  # without them there is no session to fail in
DENIALS = (80877103, 80877104)  # requests for TLS and for GSSAPI: answered by N
ORDER = re.compile(rb"mx-[0-9a-f]{12}")
FAIL = """CREATE OR REPLACE FUNCTION matrix_fail(code text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'the matrix raises %', code USING ERRCODE = code; END $$"""


def frame(kind, body):
    return kind + struct.pack("!i", len(body) + 4) + body


def in_place_of(code):
    """Parse and Bind of a statement that fails with the code."""
    text = f"SELECT pg_sleep({HANG_S})" if code == HANG else f"SELECT matrix_fail('{code}')"
    return frame(b"P", b"\0" + text.encode() + b"\0" + b"\0\0") + frame(b"B", b"\0\0" + b"\0\0" * 3)


class Wire:
    """`rules`: {(statement, mark): code}; mark "" is every execution. `fired` counts by rule. `seen`: {statement: programs that ran
    it}; `of_orders`: the statements that came with the id of an order; `now`: {(statement, program):
    whether it came with `mark`}, since watch()."""

    def __init__(self, target):
        self.target = target
        self.port = processes.free_port()
        self.lock = threading.Lock()
        self.rules, self.fired = {}, collections.Counter()
        self.seen, self.of_orders = collections.defaultdict(set), set()
        self.mark, self.now = "", {}
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.accept, daemon=True).start()

    def set(self, rules):
        with self.lock:
            self.rules = dict(rules)
            self.fired = collections.Counter()

    def watch(self, mark):
        with self.lock:
            self.mark, self.now = mark, {}

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            server = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            client.close()
            return
        for peer in (client, server):
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=copy, args=(server, client), daemon=True).start()
        try:
            self.read(client, server)
        except OSError:
            pass
        close(client, server)

    def read(self, client, server):
        """From the client to the server: the greeting, then whole messages, all of a read at once."""
        data, program = b"", None
        while True:
            piece = client.recv(1 << 16)
            if not piece:
                return
            data += piece
            out = []
            while True:
                head = 0 if program is None else 1
                if len(data) < head + 4:
                    break
                size = head + struct.unpack_from("!i", data, head)[0]
                if len(data) < size:
                    break
                message, data = data[:size], data[size:]
                if program is not None:
                    out.append(self.change(message, program))
                elif struct.unpack_from("!i", message, 4)[0] in DENIALS:
                    client.sendall(b"N")
                else:
                    program = program_of(message)
                    out.append(message)
            server.sendall(b"".join(out))

    def change(self, message, program):
        if message[:1] != b"B":
            return message
        portal_end = message.index(b"\0", 5)
        name = message[portal_end + 1:message.index(b"\0", portal_end + 1)].decode()
        if not name:
            return message
        with self.lock:
            self.seen[name].add(program)
            if name not in self.of_orders and ORDER.search(message):
                self.of_orders.add(name)
            has_mark = bool(self.mark) and self.mark.encode() in message
            self.now[name, program] = self.now.get((name, program), False) or has_mark
            for (statement, mark), code in self.rules.items():
                if statement in (name, EVERY) and (not mark or mark.encode() in message) and name not in SESSION:
                    self.fired[(statement, mark)] += 1
                    return in_place_of(code)
        return message


def program_of(greeting):
    words = greeting[8:].split(b"\0")
    names = dict(zip(words[::2], words[1::2]))
    name = names.get(b"application_name", b"").decode().partition(",")[0]  # "makegood gateway, lists", "makegood-scheduler", "makegood"
    return name.replace("-", " ").split()[-1] if name else "?"


def copy(source, target):
    try:
        while True:
            piece = source.recv(1 << 16)
            if not piece:
                break
            target.sendall(piece)
    except OSError:
        pass
    close(source, target)


def close(*sockets):
    for each in sockets:
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
