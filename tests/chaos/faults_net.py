"""The net between a process and its servers: silent, one way or both, slow, in pieces, reset, corrupt, cut at the worst moment.

iptables makes the silence in the run's own network namespace, if there is one: the kernel's time-outs then act as on a real wire.
Otherwise the proxy's blackhole does, where the peer's kernel still answers.
"""

import subprocess

from nemesis import OTHER, SILENCE, fault
from local import processes

SILENT_S = 30.0
BRIEF_S = 8.0
ONE_BYTE_S = 10.0
IPTABLES_S = 30.0


def iptables(*words):
    done = subprocess.run(["iptables", "-w", *words], capture_output=True, text=True, check=False, timeout=IPTABLES_S)
    if done.returncode != 0:
        raise processes.Failure(f"iptables {' '.join(words)} failed: {done.stderr}")


def forget_all_silence():
    iptables("-F", "INPUT")


class Silence:
    """Nothing passes on a route; up, down or both."""

    def __init__(self, stage, route, way):
        self.stage, self.route = stage, route
        port = str(stage.proxy.ports[route])
        self.rules = [["INPUT", "-i", "lo", "-p", "tcp", flag, port, "-j", "DROP"]
                      for flag, direction in (("--dport", "up"), ("--sport", "down")) if way in (direction, "both")]
        if stage.has_own_network:
            for rule in self.rules:
                iptables("-A", *rule)
        else:
            stage.proxy.mode(route, way, "blackhole")

    def end(self):
        if self.stage.has_own_network:
            for rule in self.rules:
                iptables("-D", *rule)
        else:
            self.stage.proxy.heal(self.route)


def silent(stage, routes, way, seconds=SILENT_S):
    stage.strike()
    silences = [Silence(stage, route, way) for route in routes]
    yield seconds
    for silence in silences:
        silence.end()


def any_way(dice):
    return dice.choice(("both", "up", "down"))


@fault("scheduler ↔ database: silent both ways", rows=(17,), measure=SILENCE, touches=("scheduler",))
def scheduler_without_database(stage, dice):
    yield from silent(stage, [f"{stage.scheduler(dice).name}.database"], "both")


@fault("scheduler ↔ broker: silent both ways", rows=(18,), measure=SILENCE, touches=("scheduler",))
def scheduler_without_broker(stage, dice):
    yield from silent(stage, [f"{stage.scheduler(dice).name}.broker"], "both")


@fault("scheduler ↔ a server: silent one way", rows=(19,), measure=SILENCE, touches=("scheduler",))
def scheduler_half_deaf(stage, dice):
    server = dice.choice(("database", "broker"))
    yield from silent(stage, [f"{stage.scheduler(dice).name}.{server}"], dice.choice(("up", "down")))


@fault("agent ↔ broker: silent", rows=(18, 19), measure=SILENCE, touches=("agent",))
def agent_without_broker(stage, dice):
    yield from silent(stage, [f"{dice.choice(stage.cluster.agents).name}.broker"], any_way(dice))


@fault("leading supervisor ↔ database: silent", rows=(40,), measure=SILENCE, touches=("supervisor",))
def leader_without_database(stage, dice):
    yield from silent(stage, [f"{stage.leader().name}.database"], any_way(dice))


@fault("leading supervisor ↔ broker: silent", rows=(40,), measure=SILENCE, touches=("supervisor",))
def leader_without_broker(stage, dice):
    yield from silent(stage, [f"{stage.leader().name}.broker"], any_way(dice))


@fault("gateway ↔ a server: silent", rows=(84,), measure=OTHER, touches=("gateway",))
def gateway_cut_off(stage, dice):
    server = dice.choice(("database", "broker"))
    yield from silent(stage, [f"{dice.choice(stage.cluster.gateways).name}.{server}"], any_way(dice))


@fault("agents ↔ remote: silent", rows=(51,), touches=("remote",))
def remote_silent(stage, dice):
    yield from silent(stage, [f"{dice.choice(stage.cluster.services)}.remote"], any_way(dice), BRIEF_S)


def in_mode(stage, routes, way, mode, n="", seconds=BRIEF_S):
    for route in routes:
        stage.proxy.mode(route, way, mode, n)
    yield seconds
    for route in routes:
        stage.proxy.heal(route)


def routes_of(stage, protocol):
    return sorted(name for name, its in stage.proxy.protocols.items() if its == protocol and not name.startswith("client"))


def some(stage, dice, protocol):
    routes = routes_of(stage, protocol)
    return dice.sample(routes, min(3, len(routes)))


@fault("connections to the database reset", rows=(66,), touches=("database",))
def database_resets(stage, dice):
    yield from in_mode(stage, some(stage, dice, "pg"), "both", "reset")


@fault("connections to the broker reset", rows=(58,), touches=("broker",))
def broker_resets(stage, dice):
    yield from in_mode(stage, some(stage, dice, "amqp"), "both", "reset")


@fault("connections to a remote reset", rows=(49,), touches=("remote",))
def remote_resets(stage, dice):
    yield from in_mode(stage, [f"{dice.choice(stage.cluster.services)}.remote"], "both", "reset", seconds=3.0)


@fault("answers of a remote cut in the middle", rows=(49, 50), touches=("remote",))
def remote_cut(stage, dice):
    yield from in_mode(stage, [f"{dice.choice(stage.cluster.services)}.remote"], "down", "cut", dice.randrange(1, 600))


@fault("database 500 ms slow", rows=(20,), touches=("database",))
def database_slow(stage, _dice):
    yield from in_mode(stage, routes_of(stage, "pg"), "down", "delay", 500)


@fault("broker 500 ms slow", rows=(20,), touches=("broker",))
def broker_slow(stage, _dice):
    yield from in_mode(stage, routes_of(stage, "amqp"), "down", "delay", 500)


@fault("one byte at a time", rows=(79,), touches=("broker", "database"))
def sliced(stage, dice):
    victim = stage.scheduler(dice)
    routes = [f"{victim.name}.broker", f"{victim.name}.database", f"{dice.choice(stage.cluster.agents).name}.broker"]
    yield from in_mode(stage, routes, "both", "slice", seconds=ONE_BYTE_S)


@fault("database: connection cut after COMMIT was forwarded", rows=(67,), touches=("database",))
def commit_cut(stage, dice):
    routes = routes_of(stage, "pg")
    for route in routes:
        stage.proxy.mode(route, "up", "cut-commit", dice.randrange(1, 40))
    yield BRIEF_S
    for route in routes:
        stage.proxy.heal(route)


@fault("database: connection cut after some bytes", rows=(66,), touches=("database",))
def database_cut(stage, dice):
    yield from in_mode(stage, some(stage, dice, "pg"), dice.choice(("up", "down")), "cut", dice.randrange(1, 20000))


@fault("broker: connection cut after some bytes", rows=(58, 79), touches=("broker",))
def broker_cut(stage, dice):
    yield from in_mode(stage, some(stage, dice, "amqp"), dice.choice(("up", "down")), "cut", dice.randrange(1, 20000))


def acks_lost(stage, routes, way):
    yield from in_mode(stage, routes, way, "drop-ack", 0, seconds=4.0)
    for route in routes:
        stage.proxy.close(route)  # the broker would wait for them half an hour


@fault("acks of agents lost", rows=(21, 34), touches=("broker",))
def agents_acks_lost(stage, dice):
    yield from acks_lost(stage, [f"{each.name}.broker" for each in dice.sample(stage.cluster.agents, 3)], "up")


@fault("acks of a scheduler lost", rows=(21,), touches=("broker",))
def schedulers_acks_lost(stage, dice):
    yield from acks_lost(stage, [f"{stage.scheduler(dice).name}.broker"], "up")


@fault("confirms of the broker lost", rows=(20, 26), touches=("broker",))
def confirms_lost(stage, dice):
    yield from acks_lost(stage, [f"{dice.choice(stage.cluster.schedulers + stage.cluster.agents).name}.broker"], "down")


@fault("frames of the broker corrupt", rows=(80,), touches=("broker",))
def broker_corrupt(stage, dice):
    yield from in_mode(stage, some(stage, dice, "amqp"), dice.choice(("up", "down")), "corrupt", dice.randrange(1, 50))


@fault("messages of the database corrupt", rows=(80,), touches=("database",))
def database_corrupt(stage, dice):
    yield from in_mode(stage, some(stage, dice, "pg"), dice.choice(("up", "down")), "corrupt", dice.randrange(1, 50))


@fault("the client's connections cut while it posts", rows=(1, 2), measure=OTHER, touches=("client",))
def client_cut(stage, dice):
    yield from in_mode(stage, ["client.broker"], dice.choice(("up", "down")), "cut", dice.randrange(1, 20000))


@fault("the client hears no confirms", rows=(2,), measure=OTHER, touches=("client",))
def client_unconfirmed(stage, _dice):
    yield from in_mode(stage, ["client.broker"], "down", "drop-ack", 0, seconds=3.0)
    stage.proxy.close("client.broker")
