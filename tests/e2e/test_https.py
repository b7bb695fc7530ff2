"""TLS over HTTP: agents and the services that they call, and a service's answers to probes and to Prometheus."""

import json
import shutil
import signal
import ssl
import subprocess
import urllib.request

from harness import scenario, step
from local import processes, servers

ALONE = {"agents": 0, "services": ("payment",)}  # the scenario starts the rest


def put(source, target):
    """Renews certificates as a person does: other files in the same place."""
    target.mkdir(exist_ok=True)
    for name in ("ca.pem", "cert.pem", "key.pem"):
        shutil.copy(source / name, target / name)


def log_lines(process):
    with open(process.log_path, encoding="utf-8", errors="replace") as log:  # its last line may not be whole yet
        return [json.loads(line) for line in log if line.startswith("{") and line.endswith("\n")]


def authorities(s):
    """Two authorities, each with a server, a client, and a server with an expired certificate."""
    made = []
    for name in ("ours", "others"):
        made.append(servers.Certificates(s.scratch / name).make("--host", "payment", "--client", "agent", "--expired", "old"))
    return [authority.folder for authority in made]


class Till:
    """The payment service over HTTPS with its agent, each with a folder of certificates."""

    def __init__(self, s):
        self.s = s
        self.ours, self.others = authorities(s)
        self.at_remote, self.at_agent = s.scratch / "at-remote", s.scratch / "at-agent"
        self.remote = s.remote("payment")
        self.remote.process.terminate()
        self.remote.use_tls(self.at_remote, self.ours / "agent")
        put(self.ours / "payment", self.at_remote)
        put(self.ours / "agent", self.at_agent)
        self.remote.start()
        self.agents = 0
        s.cluster.edit_service = self.edit
        self.host, self.own = "localhost", ("cert", "key")
        s.load_workflow("pay", [step("charge", "payment")])

    def edit(self, _name, definition):
        definition["url"] = f"https://{self.host}:{self.remote.port}"
        definition["tls"] = {f"{what}_file": str(self.at_agent / f"{what}.pem") for what in ("ca", *self.own)}
        definition["breaker"] = {"open_for": "100ms"}
        return definition

    def start_agent(self):
        self.agents += 1
        agent = self.s.cluster.make_agent("payment", self.agents)
        self.s.cluster.agents.append(agent)
        return agent.start().wait_ready()

    def restart_remote(self, source):
        put(source, self.at_remote)
        self.remote.process.terminate()
        self.remote.start()

    def why(self, agent, since):
        """Reasons of calls that did not succeed, from the agent's log."""
        return [line["why"] for line in log_lines(agent)[since:] if line["message"] == "call made"]


@scenario(**ALONE)
def an_order_waits_until_certificates_are_right_and_is_executed_once(s):
    """Would catch: an agent that trusts any certificate; an order that fails, or is in doubt, because a certificate was wrong for a
    while; a renewed certificate that counts only after a restart."""
    till = Till(s)
    agent = till.start_agent()
    order = s.client.submit("pay", {"n": 0})
    s.wait_state(order, "processed")
    # (case, change at the remote, change at the agent, the agent's text, the remote's text: it gets no alert about its own
    # certificate)
    wrongs = (
        ("the service's certificate is of another authority", till.others / "payment", None, "give the CA's file", ""),
        ("the service's certificate has expired", till.ours / "old", None, "renew the server's certificate", ""),
        ("the agent's certificate is of another authority", None, till.others / "agent",
         "the server refuses the client certificate: it must come from a CA", "turned away: the client's certificate is not of the CA"),
        ("the agent's certificate has expired", None, till.ours / "old", "renew the client certificate",
         "turned away: the client's certificate has expired"),
    )
    for what, at_remote, at_agent, reason, turned_away in wrongs:
        since = len(log_lines(agent))
        put(at_agent or till.ours / "agent", till.at_agent)
        if at_agent:
            shutil.copy(till.ours / "ca.pem", till.at_agent / "ca.pem")  # only the remote's own certificate is wrong
        till.restart_remote(at_remote or till.ours / "payment")
        agent.signal(signal.SIGHUP)
        order = s.client.submit("pay", {"wrong": what})
        s.wait(lambda: any(reason in why for why in till.why(agent, since)), f"the agent says why: {what}")
        assert s.state(order) == "processing", (what, s.state(order))
        s.wait(lambda: turned_away in till.remote.process.tail(), f"the remote says why: {what}")
        put(till.ours / "agent", till.at_agent)
        till.restart_remote(till.ours / "payment")
        agent.signal(signal.SIGHUP)
        s.wait_state(order, "processed")
        entry = s.effect(order, "charge", "payment")
        assert (entry["state"], entry["effects"], entry["do_requests"]) == ("done", 1, 1), (what, entry)


@scenario(**ALONE, long="each change waits until a service has noticed it")
def messages_about_bad_files_at_sighup_are_true(s):
    """Would catch: a log that claims that the old certificates stay in use, while calls fail; an order that is lost by it."""
    till = Till(s)
    agent = till.start_agent()
    s.wait_state(s.client.submit("pay", {"n": 0}), "processed")
    (till.at_agent / "ca.pem").write_text("nonsense", encoding="utf-8")
    since = len(log_lines(agent))
    agent.signal(signal.SIGHUP)
    said = s.wait(lambda: [line for line in log_lines(agent)[since:] if line["level"] == "error"], "the agent says that the file is bad")
    assert len(said) == 1 and "new ones fail until the files are repaired" in said[0]["message"], said
    assert str(till.at_agent / "ca.pem") in said[0]["reason"], said
    till.restart_remote(till.ours / "payment")  # this closes the open connections
    order = s.client.submit("pay", {"n": 1})
    s.wait(lambda: any(str(till.at_agent / "ca.pem") in why for why in till.why(agent, since)), "new connections fail")
    put(till.ours / "agent", till.at_agent)
    s.wait_state(order, "processed")
    assert s.effect(order, "charge", "payment")["effects"] == 1


@scenario(**ALONE, long="each change waits until a service has noticed it")
def a_service_of_another_name_is_not_called(s):
    """Would catch: a certificate that is valid, but of another host."""
    till = Till(s)
    till.host = "elsewhere.localhost"  # which is this machine, and in no certificate
    agent = till.start_agent()
    order = s.client.submit("pay", {"n": 1})
    s.wait(lambda: any("elsewhere.localhost" in why for why in till.why(agent, 0)), "the agent says why")
    assert s.effect(order, "charge", "payment")["do_requests"] == 0
    till.host = "localhost"
    till.start_agent()
    agent.terminate()
    s.wait_state(order, "processed")


def check(s, path, *words):
    return subprocess.run([str(s.cluster.bin / "makegood-agent"), "--service", str(path), "--check-config", *words],
                          env=processes.plain_environment(), capture_output=True, text=True, timeout=60, check=False)


@scenario(**ALONE, long="each change waits until a service has noticed it")
def a_missing_client_certificate_is_reported_and_nothing_is_executed(s):
    """Would catch: a certificate that was left out of the service file, and an order in doubt because of it."""
    till = Till(s)
    till.own = ()
    agent = till.start_agent()
    order = s.client.submit("pay", {"n": 1})
    s.wait_state(order, "compensated")
    assert "see auth, headers and tls in the service file" in s.cluster.tool("order", "show", order.order_id).stdout
    assert any("answered 403" in json.dumps(line) for line in log_lines(agent)), agent.tail()
    s.wait(lambda: "the client showed no certificate of the CA" in till.remote.process.tail(), "the remote says why")
    assert s.effect(order, "charge", "payment")["do_requests"] == 0


@scenario(**ALONE, long="each change waits until a service has noticed it")
def unusable_files_of_an_agent_are_refused_at_start(s):
    """Would catch: a mistake in a service file that shows only when the first order comes, or plaintext by oversight."""
    till = Till(s)
    good = json.loads(s.cluster.service_file("payment").read_text(encoding="utf-8"))
    tls = good["tls"]
    cases = (
        ({"url": "http://payment.example:8080"}, "/url", "--allow-plaintext"),
        ({"tls": {**tls, "ca_file": str(s.scratch / "none.pem")}}, "/tls", "none.pem: No such file"),
        ({"tls": {**tls, "key_file": str(till.others / "agent" / "key.pem")}}, "/tls", "is not the key of"),
        ({"tls": {**tls, "cert_file": tls["key_file"]}}, "/tls", "no certificate"),
        ({"tls": {"cert_file": tls["cert_file"]}}, "/tls", "belong together"),
    )
    path = s.scratch / "service-wrong.json"
    for change, pointer, reason in cases:
        path.write_text(json.dumps({**good, **change}), encoding="utf-8")
        done = check(s, path)
        said = done.stdout + done.stderr
        assert done.returncode == 2 and str(path) in said and pointer in said and reason in said, (change, done.returncode, said)
    path.write_text(json.dumps({**good, "url": "http://payment.example:8080"}), encoding="utf-8")
    done = check(s, path, "--allow-plaintext")
    assert done.returncode == 0, done.stderr


class Probed:
    """A scheduler that answers probes over TLS."""

    def __init__(self, s):
        self.s = s
        self.ours, self.others = authorities(s)
        self.files = s.scratch / "at-scheduler"
        put(self.ours / "payment", self.files)
        self.process = s.cluster.make("scheduler", "scheduler-tls", "--http-cert-file", self.files / "cert.pem",
                                      "--http-key-file", self.files / "key.pem")
        s.cluster.schedulers.append(self.process)
        self.process.start()

    def probe(self, authority, path="/readyz"):
        return self.s.cluster.tool("probe", f"https://127.0.0.1:{self.process.http_port}{path}", "--http-ca-file",
                                   authority / "ca.pem", check=False)

    def metrics(self, authority):
        """Prometheus' own request."""
        context = ssl.create_default_context(cafile=authority / "ca.pem")
        address = f"https://localhost:{self.process.http_port}/metrics"
        with urllib.request.urlopen(address, timeout=10, context=context) as answer:
            return answer.read().decode()

    def hang_up(self):
        """Sends SIGHUP; returns the errors logged after it."""
        before = len(log_lines(self.process))
        self.process.signal(signal.SIGHUP)
        def lines():
            said = log_lines(self.process)[before:]
            return said if any(line["message"].startswith("SIGHUP") for line in said) else None
        return [line for line in self.s.wait(lines, "it has read again") if line["level"] == "error"]


@scenario(**ALONE, long="each change waits until a service has noticed it")
def a_new_certificate_is_served_after_sighup_and_a_bad_one_never(s):
    """Would catch: a certificate that expires because the service may not be restarted; one typing error that ends the probes."""
    probed = Probed(s)
    s.wait(lambda: probed.probe(probed.ours).returncode == 0, "it is ready, over TLS")
    assert probed.probe(probed.others).returncode == 6
    assert s.cluster.tool("probe", f"http://127.0.0.1:{probed.process.http_port}/readyz", check=False).returncode == 6
    assert "\nmakegood_" in probed.metrics(probed.ours)
    put(probed.others / "payment", probed.files)
    assert probed.hang_up() == []
    assert probed.probe(probed.others).returncode == 0 and probed.probe(probed.ours).returncode == 6
    (probed.files / "key.pem").write_text("nonsense", encoding="utf-8")
    errors = probed.hang_up()
    assert len(errors) == 1 and str(probed.files / "key.pem") in errors[0]["reason"], errors
    assert probed.probe(probed.others).returncode == 0
    with_env = {**s.cluster.tool_env, "MAKEGOOD_HTTP": f"0.0.0.0:{probed.process.http_port}",
                "MAKEGOOD_HTTP_CERT_FILE": str(probed.files / "cert.pem"),
                "MAKEGOOD_HTTP_CA_FILE": str(probed.others / "ca.pem")}
    done = s.cluster.tool("probe", env=with_env)
    assert done.stdout == "ready\n", done.stdout


@scenario(**ALONE, long="others of its kind are quick")
def a_probe_prints_the_answer(s):
    """Would catch: a health check that is red without a reason."""
    agent = s.cluster.make_agent("payment", 1)
    s.cluster.agents.append(agent)
    agent.start().wait_ready()
    words = ("probe", f"http://127.0.0.1:{agent.http_port}/readyz")
    assert s.cluster.tool(*words).stdout == "ready\n"
    status, text = agent.get("/nothing")
    done = s.cluster.tool("probe", f"http://127.0.0.1:{agent.http_port}/nothing", check=False)
    assert status == 404 and done.returncode == 6 and text.strip() in done.stderr, done.stderr
    agent.terminate()
    done = s.cluster.tool(*words, check=False)
    assert done.returncode == 6 and "no answer from" in done.stderr, done.stderr
    assert s.cluster.tool("probe", check=False).returncode == 2
