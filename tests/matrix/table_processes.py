"""Table c: each process × stopped, killed, ended, frozen, a log that cannot be written, closed descriptors."""

import os
import signal

from engine import Cell

# A lint compares it with services/: see test_tables.py.
PROCESSES = ("scheduler", "agent-payment", "supervisor", "gateway", "console")
BRIEF_S = 3.0
FROZEN_S = 20.0
LEADERLESS_S = 35.0  # the leader has given its session up by then, and the session is named
CLOSED = ("0", "1", "2", "0 1 2")
WATCHED = ("scheduler", "supervisor", "agent-payment", "gateway")  # their absence must be reported


def by_signal(name, number):
    def begin(bench, _one):
        process = bench.named(name)
        process.signal(number)
        if number != signal.SIGSTOP:
            process.wait_end()
    return begin


def resume(name):
    return lambda bench: bench.named(name).resume()


def restart(name):
    def end(bench):
        process = bench.named(name)
        if not process.is_running():
            process.start()
        process.wait_ready(60 * bench.factor)
    return end


def with_closed(name, numbers):
    """Starts it from a shell that closes these descriptors."""
    def begin(bench, _one):
        process = bench.named(name)
        process.terminate()
        words = " ".join(f"{number}<&-" for number in numbers.split())
        process.argv = ["/bin/sh", "-c", f'exec "$@" {words}', "sh", *process.argv]
        process.start()
        process.wait_ready(30 * bench.factor)
    return begin


def plain(name):
    def end(bench):
        process = bench.named(name)
        if process.argv[0] == "/bin/sh":
            process.terminate()
            process.argv = process.argv[4:]
            process.start()
        process.wait_ready(60 * bench.factor)
    return end


def log_to(name, path):
    def begin(bench, _one):
        process = bench.named(name)
        process.terminate()
        process.log_path = path
        process.start()
        process.wait_ready(30 * bench.factor)
    return begin


def log_back(name):
    def end(bench):
        process = bench.named(name)
        if process.log_path == "/dev/full":
            process.terminate()
            process.log_path = str(bench.scratch / f"{process.name}.log")
            process.start()
        process.wait_ready(60 * bench.factor)
    return end


def cells():
    found = []
    for name in PROCESSES:
        is_watched = name in WATCHED
        found += [
            Cell("c", name, "SIGSTOP for a moment", "-", begin=by_signal(name, signal.SIGSTOP), end=resume(name), hold_s=BRIEF_S),
            Cell("c", name, "frozen", "all", begin=by_signal(name, signal.SIGSTOP), end=resume(name), hold_s=FROZEN_S,
                 needs_telling=is_watched),
            Cell("c", name, "SIGKILL", "all", begin=by_signal(name, signal.SIGKILL), end=restart(name), needs_telling=is_watched),
            Cell("c", name, "SIGTERM", "all", begin=by_signal(name, signal.SIGTERM), end=restart(name), needs_telling=is_watched),
            Cell("c", name, "log onto a full disk", "-", begin=log_to(name, "/dev/full"), end=log_back(name)),
            Cell("c", name, "slow disk", "all", reason="no process but the servers writes to a disk, except its log"),
        ]
        for numbers in CLOSED:
            found.append(Cell("c", name, f"descriptors {numbers} closed", "-", begin=with_closed(name, numbers), end=plain(name)))
    return [*found, leader_server()]


def leader_server():
    """The server process of the leader's session stands, from some time before: then no supervisor may be ready."""
    stopped = []

    def begin(bench, _one):
        pid = bench.rows("SELECT l.pid FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE l.locktype = 'advisory' AND l.granted"
                         " AND a.application_name = 'makegood-supervisor'")[0][0]
        stopped.append(pid)
        os.kill(pid, signal.SIGSTOP)
        bench.wait(lambda: False, LEADERLESS_S)

    def end(_bench):
        while stopped:
            os.kill(stopped.pop(), signal.SIGCONT)

    return Cell("c", "server of the leader", "frozen", "all", begin=begin, end=end, needs_telling=True)


def programs_of(services):
    """The long-running programs that services/ has, by their folders: those with a *_main.c, and the verbs that serve."""
    found = {path.parent.name for path in services.glob("*/*_main.c")} - {"cli"}  # the tool itself ends by itself
    return found | {path.name.removesuffix("_verb.c") for path in services.glob("cli/*_verb.c") if "mg_server" in path.read_text()}
