"""A server that implements as much of PostgreSQL's protocol as a refusal needs."""

import contextlib
import socket
import threading


class Refusing:
    """A PostgreSQL that refuses each log-in with the next of `sqlstates`, then always with the last. Its texts are in no known
    language, so only the codes can be read."""

    def __init__(self, *sqlstates, port=0):
        self.sqlstates, self.asked = sqlstates, 0
        self.socket = socket.create_server(("127.0.0.1", port))
        self.dsn = f"host=127.0.0.1 port={self.socket.getsockname()[1]} user=u password=p dbname=x sslmode=disable gssencmode=disable"
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self.socket.accept()
                with peer, contextlib.suppress(ConnectionError):
                    if not peer.recv(4096):
                        continue  # no log-in: a process of another test that looks for a server which had this port before
                    sqlstate = self.sqlstates[min(self.asked, len(self.sqlstates) - 1)]
                    self.asked += 1
                    words = b"SXYZZY\0VFATAL\0C" + sqlstate.encode() + b"\0Mplugh " + sqlstate.encode() + b"\0\0"
                    peer.sendall(b"E" + (len(words) + 4).to_bytes(4, "big") + words)
