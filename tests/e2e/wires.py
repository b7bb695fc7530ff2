"""A wire: a TCP proxy before one peer, which loses, forgets, half closes and moves connections as a network does."""

import socket
import threading
import time

BLOCK = 65536


class Link:
    """One connection through a wire. A silent one takes all bytes and passes none; neither end is informed."""

    def __init__(self, wire, client, peer):
        self.wire, self.client, self.peer = wire, client, peer
        self.is_silent, self.last, self.held_bytes = False, time.monotonic(), 0
        for source, target in ((client, peer), (peer, client)):
            threading.Thread(target=self.pump, args=(source, target), daemon=True).start()

    def pump(self, source, target):
        try:
            while data := source.recv(BLOCK):
                now, idle_s = time.monotonic(), self.wire.forgets_after_s
                self.is_silent = self.is_silent or bool(idle_s) and now - self.last > idle_s
                self.last = now
                if not self.wire.flows.is_set():
                    self.held_bytes += len(data)
                    self.wire.flows.wait()
                if not self.is_silent:
                    target.sendall(data)
            if not self.is_silent:
                target.shutdown(socket.SHUT_WR)
        except OSError:
            for end in (self.client, self.peer):
                end.close()


class Wire:
    """`port` is that of the wire; new connections go to `target`. `forgets_after_s`: as a balancer or NAT forgets an idle one."""

    def __init__(self, target):
        self.target, self.forgets_after_s, self.links = target, None, []
        self.flows = threading.Event()
        self.flows.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            try:
                self.links.append(Link(self, client, socket.create_connection(("127.0.0.1", self.target))))
            except OSError:
                client.close()

    def hold(self):
        """Bytes wait until `release`."""
        self.flows.clear()

    def release(self):
        self.flows.set()

    def held(self):
        """Bytes that have come to it while it holds them."""
        return sum(link.held_bytes for link in self.links)

    def fall_silent(self):
        """All present connections; new ones are whole."""
        for link in self.links:
            link.is_silent = True

    def half_close(self):
        """The peer's side of all present connections ends, as of one that goes down; it would still read."""
        for link in self.links:
            try:
                link.client.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # it has ended
