#!/usr/bin/python3
"""test_tables.py: the tables have a row for each statement and each process, and the proxy fails the statements that it should."""

import pathlib
import re
import socket
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "deploy"), str(HERE.parent / "e2e")]

import bench  # noqa: E402,F401  # sets the path
import matrix  # noqa: E402
import readers  # noqa: E402
import statements  # noqa: E402
import table_processes  # noqa: E402
import table_readers  # noqa: E402
import table_statements  # noqa: E402
import wire  # noqa: E402

SERVICES = HERE.parents[1] / "services"
DEADLINE_S = 20.0


def statements_are_all_found():
    """A name in a declaration of a statement is found, whatever form the declaration has."""
    text = "\n".join(path.read_text(encoding="utf-8") for folder in statements.FOLDERS
                     for path in (statements.ROOT / folder).rglob("*.c"))
    declared = set(re.findall(r'struct mg_sql \w+ = \{\s*"(\w+)"', text))
    declared |= set(re.findall(r'\.(?:keys|all|among) = \{\s*"(\w+)"', text))
    missing = declared - set(statements.names())
    assert declared and not missing, f"statements.py does not find {missing}"


def each_name_is_of_one_statement():
    """A session prepares a name once: the second statement under it would fail for ever."""
    doubled = {name: files for name, files in statements.places().items() if len(files) > 1}
    assert not doubled, f"statements of one name: {doubled}"


def processes_are_all_rows():
    rows = {name.split("-")[0] for name in table_processes.PROCESSES}
    programs = table_processes.programs_of(SERVICES)
    assert programs - rows == set(), f"table_processes.py has no row for {programs - rows}"


def sample_names_rows():
    for pattern in matrix.SAMPLE:
        row = pattern[2:].split("×")[0].strip()
        known = {*statements.names(), *table_processes.PROCESSES, "every statement", "order_process", "order_step"}
        assert pattern[0] == "b" or row in known, f"SAMPLE: there is no row {row}"


class Learned:
    """A bench that has learned some statements: those of schedulers, one of them without an order, and one of the tool."""

    class wire:
        seen = {"update_orders": {"scheduler"}, "beat": {"scheduler"}, "report_orders": {"makegood"}}
        of_orders = {"update_orders"}
    asks = {"report_orders": [(readers.Ask("tool", ("order", "list")), False)]}


def each_statement_has_cells():
    """A statement that no program ran is a red cell of its own, so that a new one is not forgotten."""
    cells = table_statements.cells(Learned, False) + table_readers.cells(Learned, table_statements.CODES)
    rows = {cell.row for cell in cells}
    assert set(statements.names()) <= rows, set(statements.names()) - rows
    built = {(cell.row, cell.whom) for cell in cells if not cell.reason and cell.rule}
    assert built == {("update_orders", "one"), ("update_orders", "all"), ("beat", "all"), ("report_orders", "all"), ("report_orders", "one")}, built
    begins = [cell.begin for cell in cells if cell.row == "keep_signal"]
    assert begins == [table_statements.ask_for_stage], begins
    assert not set(table_statements.UNRUN) - set(statements.names()), "UNRUN names statements that are gone"


def cells_of_a_statement_share_one_time():
    """A start of the fault for each code would make the table one of hours."""
    cells = table_statements.cells(Learned, False) + table_readers.cells(Learned, table_statements.CODES)
    shared = [each for each in matrix.rounds(cells) if each[0].rule and not each[0].reason and each[0].row == "beat"]
    assert [len(each) for each in shared] == [len(table_statements.CODES)], shared


def bind(name, *values):
    body = b"\0" + name.encode() + b"\0" + b"\0\0" + struct.pack("!h", len(values))
    for value in values:
        body += struct.pack("!i", len(value)) + value
    return wire.frame(b"B", body + b"\0\0")


class Server:
    """Records all that it receives."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def take(self, size):
        peer, _ = self.listener.accept()
        peer.settimeout(DEADLINE_S)
        data = b""
        while len(data) < size:
            data += peer.recv(1 << 16)
        return data


def proxy_replaces_the_bind_of_a_rule_alone():
    greeting = b"\0\3\0\0user\0x\0application_name\0makegood-scheduler\0\0"
    greeting = struct.pack("!i", len(greeting) + 4) + greeting
    one, other = b"mx-000000000001", b"mx-000000000002"
    sent = [bind("load", other), bind("load", one), bind("write", one), bind("", one), wire.frame(b"S", b"")]
    expected = greeting + sent[0] + wire.in_place_of("54000") + b"".join(sent[2:])
    server = Server()
    proxy = wire.Wire(server.port)
    proxy.watch(one.decode())
    proxy.set({("load", one.decode()): "54000"})
    with socket.create_connection(("127.0.0.1", proxy.port)) as client:
        client.settimeout(DEADLINE_S)
        client.sendall(struct.pack("!ii", 8, wire.DENIALS[0]))
        assert client.recv(1) == b"N", "a request for TLS is denied"
        stream = greeting + b"".join(sent)
        client.sendall(stream[:30])  # cut within a message
        client.sendall(stream[30:])
        received = server.take(len(expected))
    assert received == expected, (received, expected)
    assert proxy.now == {("load", "scheduler"): True, ("write", "scheduler"): True}, proxy.now
    assert proxy.fired == {("load", one.decode()): 1} and proxy.of_orders == {"load", "write"}, (proxy.fired, proxy.of_orders)


def main():
    for each in (statements_are_all_found, each_name_is_of_one_statement, each_statement_has_cells, cells_of_a_statement_share_one_time,
                 processes_are_all_rows, sample_names_rows, proxy_replaces_the_bind_of_a_rule_alone):
        each()
        print(f"ok: {each.__name__.replace('_', ' ')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
