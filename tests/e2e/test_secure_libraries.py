"""The libraries of proto/clients over TLS with a private CA and own certificates, as users with the rights of an installation."""

import contextlib
import ssl

import node_library
from harness import DEADLINE_S, scenario
from local import processes, servers
from privileges import OwnAccess
from test_library import HERE, TIMEOUT, Installed, Program
from test_privileges import refusals
from test_python import AGENT, import_library

ASK_S = 1.0  # for a confirm that does not come
EARLY = "early"


class Way:
    """How a program reaches the broker: the URL of a user, the CA that it trusts, and its own certificate with its key."""

    def __init__(self, s, user, host="127.0.0.1", authority=None, has_own=True):
        rabbit, plain = s.servers.rabbit, s.cluster.access.url_of(user)
        self.url = plain.replace("amqp:", "amqps:").replace(f"127.0.0.1:{rabbit.port}", f"{host}:{rabbit.tls_port}")
        self.files = [(authority or s.servers.tls).ca, *(s.servers.tls.of("client") if has_own else ())]


class InC:
    def __init__(self, s):
        self.s, self.installed = s, Installed(s)
        self.program = self.installed.build(HERE / "library_agent.c")

    def agent(self, way):
        return ["env", f"LD_LIBRARY_PATH={self.installed.environment['LD_LIBRARY_PATH']}", self.program, way.url, *way.files]

    def client(self, way):
        return Program(self.s, self.installed, way.url, "shop", *map(str, way.files))

    @staticmethod
    def order(program):
        return program.status("wait", program.submit("parcel", {}))[1]["status"]

    @staticmethod
    def fault(program):
        """Why a submission is not confirmed."""
        code, text = program.ask("submit", int(ASK_S * 1000), EARLY, "parcel", "normal", "{}")
        assert code == TIMEOUT, (code, text)
        return text


class InPython:
    def __init__(self, s):
        self.ledger = s.scratch / "parcels-python.jsonl"

    def agent(self, way):
        return [*AGENT, way.url, self.ledger, *way.files]

    @staticmethod
    def client(way):
        context = ssl.create_default_context(cafile=way.files[0])
        if len(way.files) > 1:
            context.load_cert_chain(*way.files[1:])
        return import_library().Client(way.url, "shop", ssl_context=context)

    @staticmethod
    def order(client):
        return client.wait(client.submit("parcel", timeout=DEADLINE_S), DEADLINE_S)["status"]

    @staticmethod
    def fault(client):
        try:
            client.submit("parcel", order_id=EARLY, timeout=ASK_S)
        except TimeoutError as error:
            return str(error)
        raise AssertionError("it is confirmed")


class InNode:
    def __init__(self, s):
        self.s, self.folder, self.ledger = s, node_library.install(), s.scratch / "parcels-node.jsonl"

    def agent(self, way):
        return ["node", self.folder / "parcels_agent.js", way.url, self.ledger, *way.files]

    def client(self, way):
        return node_library.client(self.folder, self.s, way.url, "shop", *way.files)

    @staticmethod
    def order(client):
        return client.wait(client.submit("parcel"), DEADLINE_S)["status"]

    @staticmethod
    def fault(client):
        try:
            client.submit("parcel", order_id=EARLY, timeoutS=ASK_S)
        except processes.Failure as failure:
            return str(failure)
        raise AssertionError("it is confirmed")


# The words of each library for: another CA, another host, no own certificate.
REASONS = {InC: ("CN=server", "not for 127.0.0.2", "give cert_file and key_file"),
           InPython: ("CERTIFICATE_VERIFY_FAILED", "certificate is not valid for '127.0.0.2'", "requires a client certificate"),
           InNode: ("certificate in certificate chain", "IP: 127.0.0.2 is not in the cert's list", "certificate required")}


def agent_of(s, library, name, way):
    agent = processes.Process(name, library.agent(way), s.scratch / f"{name}.log")
    s.others.append(agent)
    return agent.start()


def refuse_what_is_wrong(s, libraries):
    """Agents run side by side; a client reports the reason with its time-out."""
    others = servers.Certificates(s.scratch / "others").make("--host", "server")
    wrong = [{"authority": others}, {"host": "127.0.0.2"}, {"has_own": False}]
    agents = [(reason, agent_of(s, library, f"{type(library).__name__}-{number}", Way(s, "agent-parcels", **options)))
              for library in libraries for number, (options, reason) in enumerate(zip(wrong, REASONS[type(library)]))]
    for library in libraries:
        for options, reason in zip(wrong, REASONS[type(library)]):
            with library.client(Way(s, "client-shop", **options)) as client:
                s.wait(lambda client=client, library=library, reason=reason: reason in library.fault(client), reason)
    for reason, agent in agents:
        s.wait(lambda agent=agent, reason=reason: reason in agent.tail(200), f"{agent.name}: {reason}")
        assert agent.terminate() == 0, agent.tail()


@scenario(tls=True, access=OwnAccess, services=(), agents=0, long="npm installs packages")
def by_c_python_and_the_node_library_all_works_over_tls(s):
    """Would catch: a library that takes no CA or no certificate, trusts another CA or host, hides why it has no connection, or needs
    a right that its user does not have."""
    s.cluster.tool("broker", "apply", "--service", "parcels", "--client", "shop", env=s.cluster.env_of("deployer", None))
    s.load_workflow("parcel", [{"step": "deliver", "service": "parcels", "complete_within": "20s", "undo": "none",
                                "retry": {"attempts": 3, "backoff": "50ms"}, "do": {"method": "POST", "path": "/parcels"}}])
    libraries = [InC(s), InPython(s), InNode(s)]
    for library in libraries:
        agent = agent_of(s, library, f"agent-{type(library).__name__}", Way(s, "agent-parcels"))
        with library.client(Way(s, "client-shop")) as client:
            assert library.order(client) == "processed"
        assert agent.terminate() == 0, agent.tail()
    refuse_what_is_wrong(s, libraries)
    assert len(s.rows("SELECT 1 FROM orders")) == len(libraries)
    assert not refusals(s), refusals(s)
