"""The answers of /readyz while a server is silent, full or has an alarm."""

import contextlib
import os
import shutil
import signal
import subprocess

from harness import scenario, step
from local import processes
from test_console import Console

READY_S = 5.0  # the bound of /readyz
SLACK_S = 3.0  # of a machine that runs other tests alongside this one


def becomes_unready(s, members, part):
    """Waits until each answers 503 with the reason, within the bound of /readyz."""
    def all_say():
        return all(status == 503 and part in text for status, text in (process.get("/readyz") for process in members))
    try:
        s.wait(all_say, f"all say that they are not ready: {part}", READY_S + SLACK_S)
    except processes.Failure as failure:
        raise AssertionError(f"{failure}: {[(process.name, process.get('/readyz')) for process in members]}") from None


def stop_all(process, number):
    """SIGSTOP or SIGCONT to a server and all its processes."""
    for pid in [process.pid, *processes.descendants(process.pid)]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


@scenario(own_servers=True, schedulers=2, supervisors=2, services=("payment",),
          long="graces, elections and patience pass in real time")
def readiness_shows_that_a_server_is_silent(s):
    """Would catch: idle processes that are ready for 15 s and more while a server does not answer."""
    with_broker = [*s.cluster.schedulers, *s.cluster.supervisors, *s.cluster.agents]
    with_store = [*s.cluster.schedulers, *s.cluster.supervisors, Console(s).process]
    for server, members, part in ((s.servers.postgres, with_store, "the database has given no answer"),
                                  (s.servers.rabbit, with_broker, "the broker does not answer")):
        stop_all(server.process, signal.SIGSTOP)
        try:
            becomes_unready(s, members, part)
        finally:
            stop_all(server.process, signal.SIGCONT)
        for process in members:
            process.wait_ready()


@scenario(own_servers=True, schedulers=2, services=("payment",), long="graces, elections and patience pass in real time")
def all_schedulers_report_an_alarm_of_the_broker_alike(s):
    """The broker informs only publishers of its alarm. Would catch: an idle scheduler that is ready while another is not."""
    s.load_workflow("pay", [step("charge", "payment")])
    order = s.client.submit("pay")
    s.wait_state(order, "processed")
    s.servers.rabbit.ctl("set_disk_free_limit", "1000000GB")
    becomes_unready(s, s.cluster.schedulers, "the broker has blocked publishers")
    line = "WRONG broker       it blocks publishers (memory or disk alarm)"
    s.wait(lambda: line in s.cluster.tool("doctor", check=False).stdout, "doctor names the alarm")
    done = s.cluster.tool("order", "cancel", order.order_id, "--reason", "none", "--timeout", "5s", check=False)
    assert done.returncode == 6 and "the broker blocks publishers (memory or disk alarm)" in done.stderr, done.stderr
    s.servers.rabbit.ctl("set_disk_free_limit", "50MB")
    for process in s.cluster.schedulers:
        process.wait_ready()


@contextlib.contextmanager
def tiny_disk(s):
    """A file system of 1 MB that belongs to PostgreSQL; needs root."""
    folder = s.scratch / "tiny"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], check=True)
    try:
        shutil.chown(folder, s.servers.postgres.user, s.servers.postgres.user)
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@scenario(own_servers=True, schedulers=2, supervisors=2, long="graces, elections and patience pass in real time")
def readiness_shows_that_the_databases_disk_is_full(s):
    """Would catch: processes that are ready while no order can be stored: those that write, and those that do not."""
    members = [*s.cluster.schedulers, *s.cluster.supervisors, Console(s).process]
    full = "its disk is full"
    s.servers.postgres.psql("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
                            " $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;"
                            " CREATE TRIGGER refuse BEFORE INSERT ON orders EXECUTE FUNCTION refuse()")
    order = s.client.submit("three", {"n": 1})
    s.wait(lambda: any(full in process.get("/readyz")[1] for process in s.cluster.schedulers), "who cannot write says so")
    s.servers.postgres.psql("DROP TRIGGER refuse ON orders")
    s.client.wait_status(order, "processed")
    for process in members:
        process.wait_ready()
    if os.geteuid() != 0:
        return  # no file system can be mounted
    with tiny_disk(s) as disk:
        s.servers.postgres.psql(f"CREATE TABLESPACE tiny LOCATION '{disk}'")
        s.servers.postgres.psql("ALTER DATABASE makegood SET temp_tablespaces = tiny")
        s.servers.postgres.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                                " WHERE datname = 'makegood' AND pid <> pg_backend_pid()")
        for process in members:
            process.wait_ready()
        with open(disk / "ballast", "wb") as ballast, contextlib.suppress(OSError):
            while True:
                ballast.write(bytes(65536))
                ballast.flush()
        becomes_unready(s, members, full)
        (disk / "ballast").unlink()
        for process in members:
            process.wait_ready()
        s.servers.postgres.psql("ALTER DATABASE makegood RESET temp_tablespaces")
        s.servers.postgres.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                                " WHERE datname = 'makegood' AND pid <> pg_backend_pid()")
        s.servers.postgres.psql("DROP TABLESPACE tiny")
