"""Makegood's own processes die, stand still, run out of a resource, or are stopped regularly."""

import functools
import os
import resource

from local import processes
from nemesis import KILL, OTHER, SILENCE, fault

SILENT_S = 30.0     # longer than three heartbeats of 7 s, the bound of the broker
HOLD_S = 10.0       # of a process that waits to be killed at one point; the point comes sooner
PIPE_HOLD_S = 10.0
JUMP_S = 300
POISON_ROUNDS = 2
MOVES = ("scheduler", "agent", "broker", "database", "supervisor")  # all that must work before messages are in hand
READY_S = 15.0


def routes_of(process):
    return [f"{process.name}.broker"] + ([f"{process.name}.database"] if "MAKEGOOD_PG_DSN" in process.env else [])


@fault("scheduler: kill -9", rows=(15, 27), measure=KILL, touches=("scheduler",))
def scheduler_killed(stage, dice):
    stage.kill(stage.scheduler(dice))
    yield 3.0


@fault("agent: kill -9", rows=(29, 34), measure=KILL, touches=("agent",))
def agent_killed(stage, dice):
    stage.kill(dice.choice(stage.cluster.agents))
    yield 3.0


@fault("leading supervisor: kill -9", rows=(38,), measure=KILL, touches=("supervisor",))
def leader_killed(stage, _dice):
    stage.kill(stage.leader())
    yield 3.0


@fault("gateway: kill -9", rows=(84,), measure=OTHER, touches=("gateway",))
def gateway_killed(stage, dice):
    stage.kill(dice.choice(stage.cluster.gateways))
    yield 3.0


def kill_when(stage, process, route, way, mode, n=1):
    """Lets one message through, or not, and kills the process at that point."""
    stage.proxy.mode(route, way, mode, n)
    before = stage.proxy.fired(route)
    is_silent = mode == "blackhole"
    stage.wait(lambda: stage.proxy.fired(route) > before, 0.3 if is_silent else HOLD_S)
    stage.kill(process)
    stage.proxy.heal(route)


@fault("scheduler: kill -9 before its commit", rows=(11, 15), measure=KILL, touches=("scheduler",))
def scheduler_killed_before_commit(stage, dice):
    victim = stage.scheduler(dice)
    kill_when(stage, victim, f"{victim.name}.database", "up", "blackhole")
    yield 3.0


@fault("scheduler: kill -9 between commit and answer", rows=(10, 15, 67), measure=KILL, touches=("scheduler",))
def scheduler_killed_after_commit(stage, dice):
    victim = stage.scheduler(dice)
    kill_when(stage, victim, f"{victim.name}.database", "up", "hold-commit")
    yield 3.0


@fault("scheduler: kill -9 between publish and confirm", rows=(15, 26), measure=KILL, touches=("scheduler",))
def scheduler_killed_before_confirm(stage, dice):
    victim = stage.scheduler(dice)
    kill_when(stage, victim, f"{victim.name}.broker", "down", "drop-ack", 0)
    yield 3.0


@fault("scheduler: kill -9 between confirm and ack", rows=(15,), measure=KILL, touches=("scheduler",))
def scheduler_killed_before_ack(stage, dice):
    victim = stage.scheduler(dice)
    kill_when(stage, victim, f"{victim.name}.broker", "up", "drop-ack", 0)
    yield 3.0


@fault("agent: kill -9 while the remote acts", rows=(30,), measure=KILL, touches=("agent",))
def agent_killed_in_call(stage, dice):
    service = dice.choice(stage.cluster.services)
    route = f"{service}.remote"
    stage.proxy.mode(route, "down", "blackhole")  # the server has acted, the answer does not come
    stage.wait_s(0.3)
    stage.kill(dice.choice(stage.cluster.agents_of(service)))
    stage.proxy.heal(route)
    yield 3.0


@fault("agent: kill -9 between reply and confirm", rows=(30,), measure=KILL, touches=("agent",))
def agent_killed_before_confirm(stage, dice):
    victim = dice.choice(stage.cluster.agents)
    kill_when(stage, victim, f"{victim.name}.broker", "down", "drop-ack", 0)
    yield 3.0


@fault("agent: kill -9 between confirm and ack", rows=(31,), measure=KILL, touches=("agent",))
def agent_killed_before_ack(stage, dice):
    victim = dice.choice(stage.cluster.agents)
    kill_when(stage, victim, f"{victim.name}.broker", "up", "drop-ack", 0)
    yield 3.0


@fault("all supervisors down for 20 s", rows=(42,), measure=OTHER, touches=("supervisor",))
def no_supervisor(stage, _dice):
    for victim in stage.cluster.supervisors:
        stage.kill(victim, dead_for_s=20.0)
    yield 22.0


@fault("every process: kill -9 at once", rows=(15, 48), measure=OTHER, touches=("scheduler", "agent", "supervisor"))
def everything_killed(stage, _dice):
    for victim in stage.cluster.all:
        stage.kill(victim)
    yield 3.0
    for victim in stage.cluster.all:
        stage.wait(victim.is_running, 10)


def paused(stage, victim):
    stage.strike()
    victim.pause()
    yield SILENT_S
    victim.resume()


@fault("scheduler: stopped for 30 s", rows=(16,), measure=SILENCE, touches=("scheduler",))
def scheduler_paused(stage, dice):
    yield from paused(stage, stage.scheduler(dice))


@fault("agent: stopped for 30 s", rows=(32,), measure=SILENCE, touches=("agent",))
def agent_paused(stage, dice):
    yield from paused(stage, dice.choice(stage.cluster.agents))


@fault("leading supervisor: stopped for 30 s", rows=(39,), measure=SILENCE, touches=("supervisor",))
def leader_paused(stage, _dice):
    yield from paused(stage, stage.leader())


@fault("gateway: stopped for 30 s", rows=(84,), measure=OTHER, touches=("gateway",))
def gateway_paused(stage, dice):
    yield from paused(stage, dice.choice(stage.cluster.gateways))


@fault("SIGTERM to one after the other", rows=(78,), measure=KILL, touches=("scheduler", "agent", "supervisor"))
def rolled(stage, _dice):
    stage.strike()
    for victim in stage.cluster.all:
        stage.held.add(victim)
        victim.ask_to_end()
        stage.wait(lambda: not victim.is_running(), 20)  # pylint: disable=cell-var-from-loop
        code = victim.wait_end(1)  # kills it if it has not ended
        if code != 0:
            stage.deaths.append((victim.name + " on SIGTERM", code))
        victim.start()
        stage.held.discard(victim)
    yield 1.0


def limited(stage, victim, what, limit):
    """Sets a limit of the kernel on a running process. If the process ends by it, it is started again, without the limit."""
    stage.may_die.add(victim.name)
    _, hard = resource.prlimit(victim.pid, what)
    soft = resource.prlimit(victim.pid, what)[0]
    resource.prlimit(victim.pid, what, (limit, hard))
    pid = victim.pid
    for route in routes_of(victim):
        stage.proxy.close(route)  # the process needs new descriptors and new memory now
    yield 8.0
    if victim.is_running() and victim.pid == pid:
        resource.prlimit(victim.pid, what, (soft, hard))
    stage.wait(lambda: victim.is_running() and victim.is_ready(), 15)
    stage.may_die.discard(victim.name)


@fault("no more file descriptors", rows=(37,), touches=("scheduler", "agent", "supervisor"))
def no_descriptors(stage, dice):
    victim = dice.choice(stage.cluster.all)
    yield from limited(stage, victim, resource.RLIMIT_NOFILE, 3 + dice.randrange(3))


@fault("no more memory", rows=(37, 77), touches=("scheduler", "agent", "supervisor"), needs=("clock",))
def no_memory(stage, dice):
    victim = dice.choice(stage.cluster.all)
    size = processes.status_field(victim.pid, "VmSize") * 1024
    yield from limited(stage, victim, resource.RLIMIT_AS, size + dice.randrange(1 << 20))


def with_log(stage, victim, path):
    """Starts the process again with its log at another place."""
    stage.held.add(victim)
    victim.terminate()
    victim.log_path = str(path)
    victim.start()
    stage.held.discard(victim)


@fault("log into a pipe that is full", rows=(75,), touches=("scheduler", "agent", "supervisor"))
def log_blocked(stage, dice):
    victim = dice.choice(stage.cluster.all)
    pipe = stage.scratch / "full-pipe"
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        while os.write(end, b"x" * 4096):
            pass
    except BlockingIOError:
        pass
    with_log(stage, victim, pipe)
    yield PIPE_HOLD_S
    if not stage.wait(victim.is_ready, 10):
        stage.deaths.append((victim.name + " with a full pipe is not ready", None))
    with_log(stage, victim, stage.log_of(victim))
    os.close(end)
    pipe.unlink()


@fault("log onto a disk that is full", rows=(75,), touches=("scheduler", "agent", "supervisor"))
def log_disk_full(stage, dice):
    victim = dice.choice(stage.cluster.all)
    with_log(stage, victim, "/dev/full")
    yield PIPE_HOLD_S
    if not stage.wait(victim.is_ready, 10):
        stage.deaths.append((victim.name + " with a full disk is not ready", None))
    with_log(stage, victim, stage.log_of(victim))


@fault("clocks of agents and schedulers wrong by 5 min", rows=(76,), touches=("agent",), needs=("clock",))
def clocks_wrong(stage, dice):
    victims = dice.sample(stage.cluster.agents + stage.cluster.schedulers, 4)
    for victim in victims:
        stage.cluster.clocks[victim.name].set_ahead(dice.choice((-JUMP_S, JUMP_S)))
    yield 15.0
    for victim in victims:
        stage.cluster.clocks[victim.name].set_ahead(0)


def killed_in_turn(stage, victims, route, way, mode):
    """Kills each victim at a message, with work in hand, which the next one then takes."""
    def is_there(victim):
        return victim.is_running() and victim.is_ready()

    for victim in POISON_ROUNDS * victims:
        if stage.wait(functools.partial(is_there, victim), READY_S):
            kill_when(stage, victim, f"{victim.name}.{route}", way, mode, 0)
    yield 3.0


@fault("poisoned submission: all schedulers die in turn", rows=(12,), touches=MOVES)
def scheduler_poisoned(stage, _dice):
    yield from killed_in_turn(stage, stage.cluster.schedulers, "database", "up", "blackhole")


@fault("poisoned request: all agents of a service die in turn", rows=(36,), touches=MOVES)
def agent_poisoned(stage, dice):
    victims = stage.cluster.agents_of(dice.choice(stage.cluster.services))
    yield from killed_in_turn(stage, victims, "broker", "up", "drop-ack")


