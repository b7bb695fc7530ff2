"""Processes that this program started, and only those.

Every process has a log file, is known by its pid, and is ended when the program ends, also by SIGINT and SIGTERM (see
`end_on_signals`). Nothing is ever looked up by name. A wait has a condition and a deadline; the condition is
polled every POLL_S at first, and less often the longer the wait lasts.
"""

import atexit
import ctypes
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

POLL_S = 0.02
POLL_MOST_S = 0.1
POLL_SHARE = 0.1  # of the time waited so far: polling prolongs no wait by more
LOG_END = 4000  # characters of a log: some twenty lines of it
# Below the ephemeral range (32768 up). Otherwise a client that retries a port without a listener can get that very port
# as its own source port, and then connects to itself.
PORTS = range(20000, 32000)
PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None, use_errno=True)


class Failure(Exception):
    """Something that was needed did not happen; the text is for people."""


def wait_until(condition, what, timeout_s=30.0, alive=None):
    """Waits until condition() is true and returns its value. `alive` is a process that must live on meanwhile."""
    began = time.monotonic()
    deadline = began + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if alive is not None and alive.popen.poll() is not None:
            raise Failure(f"{alive.name} ended with {alive.popen.returncode} while waiting until {what}\n{alive.tail()}")
        now = time.monotonic()
        if now > deadline:
            tail = f"\n{alive.tail()}" if alive is not None else ""
            raise Failure(f"waited {timeout_s:g} s in vain until {what}{tail}")
        time.sleep(min(POLL_MOST_S, max(POLL_S, POLL_SHARE * (now - began))))  # POLL_S at the least


taken_ports = []


def free_port():
    """A loopback port without a listener, and not reserved by another of our programs on this machine: a server can take
    ten seconds until it binds its port."""
    for port in random.sample(PORTS, 200):
        claim = claim_port(port)
        if claim is None:
            continue
        taken_ports.append(claim)
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise Failure("could not find a free port on 127.0.0.1 between 20000 and 32000")


def claim_port(port):
    """A socket with a name that only one process of a network namespace can hold, or None if another holds it. The kernel
    frees the name when the process ends (unix(7), abstract sockets)."""
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        claim.bind(f"\0makegood-port-{port}")
    except OSError:
        claim.close()
        return None
    return claim


def descendants(pid):
    """The pids below `pid` in the process tree, from /proc."""
    children = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as stat:
                parent = int(stat.read().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        children.setdefault(parent, []).append(int(entry))
    found, queue = [], [pid]
    while queue:
        for child in children.get(queue.pop(), []):
            found.append(child)
            queue.append(child)
    return found


def end_with_parent():
    """In a new process: it is asked to end when the thread that started it dies."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def plain_environment():
    """This program's environment without what would configure the services or libpq behind our back."""
    return {name: value for name, value in os.environ.items()
            if not (name.startswith("MAKEGOOD_") or re.fullmatch("PG[A-Z]+", name) or name.lower().endswith("_proxy"))}


class Process:
    """One program that runs until it is ended; it can be started again with the same arguments."""

    started = []  # in order of their starts; ended in reverse

    def __init__(self, name, argv, log_path, env=None, user=None, cwd=None, http_port=None):
        self.name = name
        self.argv = [str(word) for word in argv]
        self.log_path = str(log_path)
        self.env = env
        self.user = user
        self.cwd = cwd
        self.http_port = http_port
        self.popen = None
        self.was_in_leak_check = False  # the last wait_end found it stuck there

    @property
    def pid(self):
        return self.popen.pid

    def is_running(self):
        return self.popen is not None and self.popen.poll() is None

    def start(self):
        """Starts it; from the main thread only, because the death of the starting thread would end it."""
        who = {}
        if self.user is not None:
            who = {"user": self.user, "group": self.user, "extra_groups": []}
        environment = plain_environment()
        environment.update(self.env or {})
        with open(self.log_path, "ab") as log:
            self.popen = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
                                          cwd=self.cwd, start_new_session=True, preexec_fn=end_with_parent, **who)
        if self not in Process.started:
            Process.started.append(self)
        return self

    def signal(self, number):
        if self.is_running():
            os.kill(self.pid, number)

    def pause(self):
        self.signal(signal.SIGSTOP)

    def resume(self):
        self.signal(signal.SIGCONT)

    def kill(self):
        """As a power failure would: it and all below it, with SIGKILL."""
        if not self.is_running():
            return
        victims = [self.pid] + descendants(self.pid)
        for pid in victims:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.popen.wait()
        wait_until(lambda: not any(is_alive(pid) for pid in victims[1:]), f"all of {self.name} is gone")

    def ask_to_end(self):
        """By SIGTERM. Only a paused process gets SIGCONT, too: see `is_in_leak_check`."""
        is_paused = self.is_running() and state_of(self.pid) == "T"
        self.signal(signal.SIGTERM)
        if is_paused:
            self.signal(signal.SIGCONT)

    def wait_end(self, timeout_s=20.0):
        """Waits until it ends, and kills it if it does not. Returns its exit code; None if it was never started."""
        self.was_in_leak_check = False
        if self.popen is None:
            return None
        try:
            self.popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.was_in_leak_check = is_in_leak_check(self.pid)
            self.kill()
        return self.popen.returncode

    def terminate(self):
        self.ask_to_end()
        return self.wait_end()

    def tail(self, lines=15):
        try:
            with open(self.log_path, encoding="utf-8", errors="replace") as log:
                return "".join(f"  {self.name}: {line}" for line in log.readlines()[-lines:])
        except OSError:
            return ""

    def get(self, path):
        """(status, text) of its own HTTP address; (0, reason) if it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")
        except OSError as error:
            return 0, str(error)

    def is_ready(self):
        return self.get("/readyz")[0] == 200

    def wait_ready(self, timeout_s=30.0):
        try:
            wait_until(self.is_ready, f"{self.name} says that it is ready", timeout_s, alive=self)
        except Failure as failure:
            raise Failure(f"{failure}\n  /readyz: {self.get('/readyz')}") from None
        return self

    def page(self):
        """Its metrics as text; empty while it does not answer."""
        status, text = self.get("/metrics")
        return text if status == 200 else ""

    def series(self, name, **labels):
        """The sum of the series of this name that have these labels; None if there is none."""
        found = [line for line in self.page().splitlines() if re.match(rf"{name}(\{{| )", line)
                 and all(f'{key}="{value}"' in line for key, value in labels.items())]
        return sum(float(line.rpartition(" ")[2]) for line in found) if found else None

    def metric(self, name):
        """As `series`, over all labels; 0 if there is none."""
        return self.series(name) or 0.0


def state_of(pid):
    """The letter of the process's state, as in proc(5); X if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


def is_alive(pid):
    """True for a process that runs; a zombie is dead."""
    return state_of(pid) not in "ZX"


def status_field(pid, name):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
            return next((int(line.split()[1]) for line in status if line.startswith(name + ":")), 0)
    except OSError:
        return 0


def is_in_leak_check(pid):
    """True if LeakSanitizer has stopped the process: its tracer is then a child of its own, which nothing else makes.

    At the end of a process LeakSanitizer stops its threads with ptrace. A SIGCONT within those milliseconds cancels a stop that
    is pending, and LeakSanitizer waits for it for ever. That is the checker's hang, not the program's.
    """
    tracer = status_field(pid, "TracerPid")
    return tracer != 0 and status_field(tracer, "PPid") == pid


def end_of(log):
    """What a person looks at when something failed: the end of a log (a path)."""
    return log.read_text(encoding="utf-8", errors="replace")[-LOG_END:]


def show_logs(folder):
    """Shows on stderr how each log in the folder ends."""
    for path in sorted(folder.glob("*.log")):
        text = end_of(path)
        if text.strip():
            print(f"--- {path.name}\n{text}", file=sys.stderr)


def end_all():
    """Ends everything started here, last first. Those asked politely get their time together, not each its own."""
    doomed = [process for process in reversed(Process.started) if process.is_running()]
    Process.started.clear()
    for process in doomed:
        process.kill()


def end_on_signals():
    """SIGINT, SIGTERM and SIGHUP end this program and every process that it started. Only the first of them counts: a second
    would interrupt the cleanup, in which every wait has a deadline."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def leave(number, _frame):
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + number)

    for number in numbers:
        signal.signal(number, leave)


atexit.register(end_all)
