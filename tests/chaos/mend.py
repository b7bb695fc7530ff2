"""Restores everything as if no fault had struck. It is needed when a fault could not be injected or healed, because rabbitmqctl, a
statement or a request of the nemesis failed or hung. Its progress is unknown, so all of it is undone. Makegood's own processes are
restarted, since their limits are unknown as well.
"""

import functools
import shutil
import signal
import subprocess

import psycopg2

import slow_sweeps
from faults_broker import QUEUES, signal_all
from faults_database import up_again
from faults_net import forget_all_silence
from faults_whole import mend_triggers
from local import processes, servers

READY_S = 180.0
CTL_S = 60.0  # of each of several


def mend(stage):
    """Raises an exception if anything does not come back: then the run can prove nothing more."""
    stage.history.note("mending")
    for name in stage.proxy.protocols:
        stage.proxy.heal(name)
    if stage.has_own_network:
        forget_all_silence()
    for clock in [stage.postgres.clock, *stage.cluster.clocks.values()]:
        clock.set_ahead(0)
    mend_database(stage)
    mend_broker(stage)
    for remote in stage.cluster.remotes.values():
        if not remote.process.is_running():
            remote.start()
        remote.switch("order")
    for process in stage.cluster.all:
        process.log_path = stage.log_of(process)
        process.kill()
        stage.restarts[process] = 0.0
    stage.held.clear()
    stage.may_die.clear()
    stage.is_blind = False
    if not stage.wait(lambda: all(process.is_running() and process.is_ready() for process in stage.cluster.all), READY_S):
        raise processes.Failure("Makegood's processes are not ready although all has been mended")


def attempt(stage, action, *words):
    """An undo without anything to undo fails, which does not matter here."""
    try:
        action(*words)
    except (processes.Failure, subprocess.SubprocessError, OSError, psycopg2.Error) as error:
        stage.history.note("mending failed", words=[str(word) for word in words], text=str(error))


def mend_database(stage):
    signal_all(stage.postgres.all_pids(), signal.SIGCONT)
    (stage.disk / "ballast").unlink(missing_ok=True)
    for process in list(processes.Process.started):
        if process.name.startswith("postgres") and process is not stage.postgres.process:
            process.kill()
    up_again(stage)
    for folder in stage.disk.glob("postgres*"):
        if folder != stage.postgres.folder:
            shutil.rmtree(folder, ignore_errors=True)
    for name in ("default_transaction_read_only", "synchronous_standby_names"):
        attempt(stage, stage.postgres.psql, f"ALTER SYSTEM RESET {name}", "postgres")
    attempt(stage, mend_triggers, stage)
    attempt(stage, slow_sweeps.end, stage.postgres, servers.DATABASE)
    stage.postgres.psql("SELECT pg_reload_conf()", "postgres")
    stage.postgres.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' "
                        "AND pid <> pg_backend_pid()", "postgres")
    stage.proxy.target("pg", stage.postgres.port)
    stage.cluster.access.dsn = stage.postgres.dsn


def tell(stage, rabbit, *words):
    attempt(stage, functools.partial(rabbit.ctl, timeout_s=CTL_S), *words)


def mend_second(stage):
    """Restarts the node first: without it the queue could not be taken from it."""
    second, queue = stage.second
    stage.second = None
    if not second.process.is_running():
        attempt(stage, second.restart)
    attempt(stage, second.give_back, queue)
    attempt(stage, second.leave)


def mend_broker(stage):
    if stage.second is not None:
        mend_second(stage)
    for rabbit in stage.rabbits:
        signal_all(rabbit.all_pids(), signal.SIGCONT)
        if not rabbit.process.is_running():
            rabbit.start()
        tell(stage, rabbit, "await_startup")
        tell(stage, rabbit, "start_app")
        rabbit.wait_ready(READY_S)
    for words in (("add_vhost", "/"), ("set_permissions", "guest", ".*", ".*", ".*"), ("clear_policy", "chaos"),
                  ("clear_vhost_limits", "--vhost", "/"), ("set_vm_memory_high_watermark", "0.4"),
                  ("set_disk_free_limit", "50MB")):
        tell(stage, stage.rabbit, *words)
    try:
        stage.apply_topology()
    except processes.Failure:  # one of the queues has other arguments than it should
        for queue in QUEUES:
            tell(stage, stage.rabbit, "delete_queue", queue)
        stage.apply_topology()
