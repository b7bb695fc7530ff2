#!/usr/bin/python3
"""test_proxy.py: every mode of the proxy has its documented effect, between plain sockets, a real PostgreSQL and a real RabbitMQ.
"""

import os
import pathlib
import resource
import secrets
import socket
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "deploy"), str(HERE.parent / "e2e")]

import pika  # noqa: E402
import pika.exceptions  # noqa: E402
import psycopg2  # noqa: E402

from local import cluster, processes, servers  # noqa: E402
from stage import PLAIN, Proxy  # noqa: E402

DEADLINE_S = 20.0
CROWD = 9 * 64
SILENT_S = 0.5  # silence is proved by this time without a byte


class Echo:
    """A server that sends back and records all it receives."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", processes.free_port()))
        self.port = self.listener.getsockname()[1]
        self.pieces = []
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            peer, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        try:
            while piece := peer.recv(65536):
                self.pieces.append(piece)
                peer.sendall(piece)
        except OSError:
            pass


class Line:
    """A client's connection through the proxy."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)

    def say(self, data):
        self.socket.sendall(data)

    def hear(self, size):
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                break
            data += piece
        return data

    def is_silent(self):
        self.socket.settimeout(SILENT_S)
        try:
            return self.socket.recv(1) is None
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(DEADLINE_S)

    def is_reset(self):
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionResetError:
            return True
        return False


def check_crowd(proxy):
    """Nine agents of 64 calls each, all at once: connections that the proxy resets of itself are faults that no injection made."""
    echo = Echo()
    port = proxy.route("crowd", echo.port, "raw")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    lines = [Line(port) for _ in range(CROWD)]
    for line in lines:
        line.say(b"here")
    assert all(line.hear(4) == b"here" for line in lines)
    proxy.close("crowd")


def check_plain(proxy):
    echo = Echo()
    port = proxy.route("plain", echo.port, "raw")
    line = Line(port)
    line.say(b"pass")
    assert line.hear(4) == b"pass"

    proxy.mode("plain", "up", "blackhole")
    line.say(b"held")
    assert line.is_silent() and b"held" not in echo.pieces
    proxy.heal("plain")
    assert line.hear(4) == b"held", "what was held goes on"

    proxy.mode("plain", "down", "blackhole")
    line.say(b"half")
    processes.wait_until(lambda: b"half" in echo.pieces, "it arrives")
    assert line.is_silent()
    proxy.heal("plain")
    assert line.hear(4) == b"half"

    proxy.mode("plain", "down", "delay", 300)
    began = time.monotonic()
    line.say(b"late")
    assert line.hear(4) == b"late" and time.monotonic() - began >= 0.3
    proxy.heal("plain")

    proxy.mode("plain", "up", "slice")
    before = len(echo.pieces)
    line.say(b"sliced")
    assert line.hear(6) == b"sliced" and b"".join(echo.pieces[before:]) == b"sliced"
    proxy.heal("plain")

    proxy.mode("plain", "down", "corrupt", 1)
    line.say(b"abc")
    assert line.hear(3) == bytes([ord("a") ^ 0x80]) + b"bc"
    line.say(b"abc")
    assert line.hear(3) == b"abc", "once on each connection"
    assert proxy.fired("plain") == 1
    proxy.heal("plain")

    proxy.mode("plain", "down", "cut", 5)
    line.say(b"12345678")
    try:
        heard = line.hear(8)
    except ConnectionResetError:
        heard = b""
    assert len(heard) <= 5, heard
    proxy.heal("plain")

    line = Line(port)
    line.say(b"x")
    assert line.hear(1) == b"x"
    proxy.mode("plain", "both", "reset")
    assert line.is_reset()
    try:
        assert Line(port).is_reset()
    except ConnectionResetError:
        pass  # already at this point
    proxy.heal("plain")
    line = Line(port)
    line.say(b"x")
    assert line.hear(1) == b"x"
    proxy.close("plain")
    assert line.is_reset()


def check_postgres(proxy, both, name):
    both.postgres.create_database(name)
    port = proxy.route("pg", both.postgres.port, "pg")
    direct = psycopg2.connect(both.postgres.dsn_of(name))
    direct.autocommit = True
    dsn = f"postgresql://{servers.ROLE}:{both.postgres.password}@127.0.0.1:{port}/{name}"

    def count():
        with direct.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM t")
            return cursor.fetchone()[0]

    def session(options=PLAIN):
        connection = psycopg2.connect(dsn + options)
        connection.autocommit = True
        return connection

    def run(connection, sql):
        with connection.cursor() as cursor:
            cursor.execute(sql)

    run(direct, "CREATE TABLE t (n int)")
    run(session("?sslmode=prefer"), "INSERT INTO t VALUES (1)")  # a first packet that asks for encryption
    assert count() == 1

    for mode in ("cut-commit", "corrupt"):
        connection = session()
        proxy.mode("pg", "up" if mode == "cut-commit" else "down", mode, 1)
        try:
            run(connection, "INSERT INTO t VALUES (2)")
            raise AssertionError(f"{mode}: the client must not hear of its commit")
        except (psycopg2.OperationalError, psycopg2.DatabaseError):
            pass
        processes.wait_until(lambda before=count: before() >= 2, "it is committed all the same")
        proxy.heal("pg")
        run(direct, "DELETE FROM t WHERE n = 2")
        run(direct, "INSERT INTO t VALUES (1)")

    connection = session()
    before, fired = count(), proxy.fired("pg")
    proxy.mode("pg", "up", "hold-commit", 1)
    thread = threading.Thread(target=run, args=(connection, "INSERT INTO t VALUES (3)"), daemon=True)
    thread.start()
    processes.wait_until(lambda: proxy.fired("pg") > fired and count() == before + 1, "it is committed")
    thread.join(SILENT_S)
    assert thread.is_alive(), "the answer is held"
    proxy.heal("pg")
    thread.join(DEADLINE_S)
    assert not thread.is_alive(), "and goes on"


def check_rabbit(proxy, both, name):
    both.rabbit.create_vhost(name)
    port = proxy.route("amqp", both.rabbit.port, "amqp")
    direct = pika.BlockingConnection(pika.URLParameters(both.rabbit.url_of(name))).channel()
    direct.queue_declare("q", durable=True)

    def session():
        return pika.BlockingConnection(pika.URLParameters(f"amqp://guest:guest@127.0.0.1:{port}/{name}"))

    def depth():
        return direct.queue_declare("q", passive=True).method.message_count

    connection = session()
    connection.channel().basic_publish("", "q", b"x" * 100000)
    processes.wait_until(lambda: depth() == 1, "a large message passes")

    channel = session().channel()
    proxy.mode("amqp", "up", "drop-ack", 0)
    method, _, _ = channel.basic_get("q")
    channel.basic_ack(method.delivery_tag)
    processes.wait_until(lambda: proxy.fired("amqp") == 1, "the ack is dropped")
    assert channel.queue_declare("q", passive=True).method.message_count == 0, "the connection goes on"
    proxy.close("amqp")
    processes.wait_until(lambda: depth() == 1, "what was not acked is there again")
    proxy.heal("amqp")

    connection = session()
    channel = connection.channel()
    channel.confirm_delivery()
    proxy.mode("amqp", "down", "drop-ack", 1)
    timer = threading.Timer(SILENT_S, proxy.close, args=("amqp",))
    timer.start()
    try:
        channel.basic_publish("", "q", b"unconfirmed")
        raise AssertionError("the client must not hear of its confirm")
    except pika.exceptions.AMQPError:
        pass
    timer.join()
    processes.wait_until(lambda: depth() == 2, "it is there all the same")
    proxy.heal("amqp")

    channel = session().channel()
    proxy.mode("amqp", "up", "corrupt", 1)
    try:
        channel.queue_declare("q", passive=True)
        raise AssertionError("the broker must refuse a frame without its end")
    except pika.exceptions.AMQPError:
        pass
    proxy.heal("amqp")


def main():
    processes.end_on_signals()
    scratch = cluster.make_scratch("makegood-chaos-proxy-")
    name = "proxy_" + secrets.token_hex(4)
    try:
        both = servers.attach(os.environ["MAKEGOOD_TEST_SERVERS"])
        proxy = Proxy(pathlib.Path(os.environ["MAKEGOOD_BUILD"]) / "bin" / "makegood-chaos-proxy", scratch).start()
        check_plain(proxy)
        check_crowd(proxy)
        check_postgres(proxy, both, name)
        check_rabbit(proxy, both, name)
        assert proxy.process.is_running(), proxy.process.tail()
        proxy.process.terminate()
        print("ok: every mode does what it says")
        return 0
    finally:
        processes.end_all()
        cluster.remove_scratch(scratch)


if __name__ == "__main__":
    sys.exit(main())
