"""RabbitMQ: killed, stopped, frozen, full, alarmed, emptied, without rights; and three nodes that lose each other."""

import os
import signal
import subprocess
import time

from faults_net import iptables
from kinds import CLIENT
from local import processes, servers
from nemesis import OTHER, SERVER, fault

SILENT_S = 30.0
ALARM_S = 8.0
CLOSE_S = 30.0  # on a busy machine rabbitmqctl alone takes half of that
NOTICED_S = 30.0         # longer than any publication without an outcome
PURGING_S = 4.0
MINORITY_S = (3.0, 20.0)  # within the first rest of the queue, and beyond it
LED_BY_SECOND = 0.25      # how often the node that is lost leads the queue
CLIENT_QUEUE = "client.chaos.statuses"
QUEUES = ("orders.intake", "orders.intake.high", "agent.payment.requests", "agent.inventory.requests", "agent.carrier.requests",
          "scheduler.replies", "scheduler.commands", "orders.signals")
SIGNAL_EXCHANGES = (f"makegood.signals.{CLIENT}", "makegood.callbacks")


@fault("broker: kill -9", rows=(57,), measure=SERVER, touches=("broker",), needs=("single",))
def broker_killed(stage, _dice):
    stage.rabbit.kill()
    yield 1.0
    stage.rabbit.restart()


@fault("broker: restarted in good order", rows=(57,), measure=SERVER, touches=("broker",), needs=("single",))
def broker_restarted(stage, _dice):
    stage.rabbit.process.terminate()
    yield 1.0
    stage.rabbit.restart()


@fault("broker: stop_app, start_app", rows=(58,), measure=SERVER, touches=("broker",), needs=("single",))
def broker_app_stopped(stage, _dice):
    stage.rabbit.ctl("stop_app")
    yield 2.0
    stage.rabbit.ctl("start_app")
    stage.rabbit.wait_ready()


def close_connections(stage):
    """Closes as many as the broker can: it waits without an end for a connection that is just ending by itself."""
    try:
        stage.rabbit.ctl("close_all_connections", "chaos", timeout_s=CLOSE_S)
    except subprocess.TimeoutExpired:
        stage.history.note("not all connections could be closed")


@fault("broker: all connections closed", rows=(58,), measure=SERVER, touches=("broker",))
def broker_connections_closed(stage, _dice):
    close_connections(stage)
    yield 0.5


def signal_all(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


@fault("broker: stopped for 30 s", rows=(59,), measure=SERVER, touches=("broker",), needs=("single",))
def broker_paused(stage, _dice):
    pids = stage.rabbit.all_pids()
    signal_all(pids, signal.SIGSTOP)
    yield SILENT_S
    signal_all(pids, signal.SIGCONT)
    stage.rabbit.wait_ready()


@fault("broker: memory alarm", rows=(60,), measure=SERVER, touches=("broker",))
def broker_memory_alarm(stage, _dice):
    stage.rabbit.ctl("set_vm_memory_high_watermark", "absolute", "1MB")
    yield ALARM_S
    stage.rabbit.ctl("set_vm_memory_high_watermark", "0.4")


@fault("broker: disk alarm", rows=(60,), measure=SERVER, touches=("broker",))
def broker_disk_alarm(stage, _dice):
    stage.rabbit.ctl("set_disk_free_limit", "1000000GB")
    yield ALARM_S
    stage.rabbit.ctl("set_disk_free_limit", "50MB")


@fault("broker: a queue purged", rows=(61,), touches=("broker",))
def queue_purged(stage, dice):
    stage.rabbit.ctl("purge_queue", dice.choice(QUEUES))
    yield 0.5


@fault("broker: a queue deleted, then made again", rows=(61, 62), touches=("broker",))
def queue_deleted(stage, dice):
    stage.rabbit.ctl("delete_queue", dice.choice(QUEUES))
    yield 4.0
    stage.apply_topology()


@fault("broker: an exchange of signals deleted, then made again", rows=(61, 85), touches=("broker",))
def signal_exchange_deleted(stage, dice):
    connection = stage.amqp()
    connection.channel().exchange_delete(dice.choice(SIGNAL_EXCHANGES))
    connection.close()
    yield 6.0
    stage.apply_topology()


@fault("broker: signals purged", rows=(61, 85), touches=("broker",))
def signals_purged(stage, _dice):
    """For some seconds most signals are lost, unless a scheduler has taken them at once."""
    connection = stage.amqp()
    channel = connection.channel()
    until = time.monotonic() + PURGING_S
    while time.monotonic() < until:
        channel.queue_purge("orders.signals")
        stage.wait_s(processes.POLL_S)
    connection.close()
    yield 0.5


@fault("broker: a queue made with other arguments", rows=(62,), touches=("broker",))
def queue_wrong(stage, dice):
    queue = dice.choice(QUEUES)
    stage.rabbit.ctl("delete_queue", queue)
    connection = stage.amqp()
    connection.channel().queue_declare(queue, durable=True)
    connection.close()
    yield 4.0
    stage.rabbit.ctl("delete_queue", queue)
    stage.apply_topology()


@fault("broker: rights taken away", rows=(62,), touches=("broker",))
def rights_taken(stage, _dice):
    stage.rabbit.ctl("set_permissions", "guest", "^$", "^$", "^$")
    close_connections(stage)
    yield 5.0
    stage.rabbit.ctl("set_permissions", "guest", ".*", ".*", ".*")


@fault("broker: virtual host gone, made again", rows=(62, 63), touches=("broker",))
def vhost_gone(stage, _dice):
    stage.rabbit.ctl("delete_vhost", "/")
    yield 4.0
    stage.rabbit.ctl("add_vhost", "/")
    stage.rabbit.ctl("set_permissions", "guest", ".*", ".*", ".*")
    stage.apply_topology()


@fault("broker: loses everything; queues made again", rows=(63,), touches=("broker",), needs=("single",))
def broker_reset(stage, _dice):
    stage.rabbit.ctl("stop_app")
    stage.rabbit.ctl("reset")
    stage.rabbit.ctl("start_app")
    yield 1.0
    stage.rabbit.wait_ready()
    stage.apply_topology()


@fault("broker: no more connections", rows=(65,), touches=("broker",))
def broker_connection_limit(stage, _dice):
    stage.rabbit.ctl("set_vhost_limits", "--vhost", "/", '{"max-connections": 3}')
    close_connections(stage)
    yield 5.0
    stage.rabbit.ctl("clear_vhost_limits", "--vhost", "/")


@fault("broker: a queue is full", rows=(14,), touches=("broker",))
def queue_full(stage, dice):
    queue = dice.choice(QUEUES).replace(".", "\\.")
    stage.rabbit.ctl("set_policy", "--priority", "9", "--apply-to", "queues", "chaos", f"^{queue}$", '{"max-length": 1}')
    yield ALARM_S
    stage.rabbit.ctl("clear_policy", "chaos")


@fault("an order's status queue deleted", rows=(1,), touches=("broker",))
def status_queue_deleted(stage, _dice):
    stage.rabbit.ctl("delete_queue", CLIENT_QUEUE)
    yield 1.0


# --- a second node ---------------------------------------------------------------------------------------------------------


def untaken(stage):
    """The publishes that no queue took, by the schedulers' own count."""
    return sum(process.series("makegood_published_total", outcome=outcome) or 0.0 for process in stage.cluster.schedulers
               for outcome in ("unknown", "refused"))


@fault("broker: a queue loses its majority", rows=(83,), touches=("broker",), needs=("single",))
def majority_lost(stage, dice):
    """A remaining leader confirms nothing, and publishers' channels stall; a lost leader has publishes refused."""
    queue = dice.choice([CLIENT_QUEUE] + [name for name in QUEUES if name.startswith("agent.")])
    is_led = dice.random() < LED_BY_SECOND
    second = servers.SecondRabbit(stage.scratch / f"rabbit-{processes.free_port()}", stage.rabbit)
    stage.second = (second, queue)
    second.start_joined()
    second.share(queue, is_led=is_led)
    before = untaken(stage)
    stage.strike()
    second.kill()
    if not stage.wait(lambda: untaken(stage) > before, NOTICED_S):
        raise processes.Failure(f"{queue} without a majority takes what it is given")
    stage.history.note("noticed", queue=queue, leader="gone" if is_led else "left",
                       seconds=round(time.monotonic() - stage.struck_at, 3))
    yield dice.choice(MINORITY_S)
    second.restart()
    second.give_back(queue)
    second.leave()
    stage.second = None


# --- a cluster of three ------------------------------------------------------------------------------------------------------


def lead_around(stage, victim):
    """Routes to that node are led to another one, as by a load balancer."""
    other = next(rabbit for rabbit in stage.rabbits if rabbit is not victim)
    stage.proxy.target("amqp", other.port)


@fault("cluster: a node killed", rows=(57, 64), measure=SERVER, touches=("broker",), needs=("cluster",))
def node_killed(stage, dice):
    victim = dice.choice(stage.rabbits[1:])
    victim.kill()
    lead_around(stage, victim)
    yield 10.0
    victim.restart()


# RabbitMQ decides when the others take over from a node that stalls; no connection of Makegood is silent.
@fault("cluster: a node stopped for 30 s", rows=(59, 64), measure=OTHER, touches=("broker",), needs=("cluster",))
def node_paused(stage, dice):
    victim = dice.choice(stage.rabbits[1:])
    stage.strike()
    signal_all(victim.all_pids(), signal.SIGSTOP)
    yield SILENT_S
    signal_all(victim.all_pids(), signal.SIGCONT)


def cut_off(victim, flag):
    address = f"127.0.0.{victim.number}"
    for rule in (["INPUT", "-i", "lo", "-s", address, "!", "-d", address, "-j", "DROP"],
                 ["INPUT", "-i", "lo", "-d", address, "!", "-s", address, "-j", "DROP"]):
        iptables(flag, *rule)


@fault("cluster: a node cut off from the others", rows=(64,), measure=OTHER, touches=("broker",), needs=("cluster", "network"))
def node_cut_off(stage, dice):
    victim = dice.choice(stage.rabbits[1:])
    cut_off(victim, "-A")
    yield SILENT_S
    cut_off(victim, "-D")


@fault("cluster: leaders of queues moved", rows=(64,), measure=OTHER, touches=("broker",), needs=("cluster",))
def leaders_moved(stage, _dice):
    subprocess.run([stage.rabbit.sbin / "rabbitmq-queues", "--longnames", "--node", stage.rabbit.node, "rebalance", "quorum"],
                   env={**processes.plain_environment(), **stage.rabbit.env}, capture_output=True, check=False, timeout=60, cwd="/")
    yield 2.0
