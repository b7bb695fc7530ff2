"""The pages for users, typed as they stand: each command of a shell block runs, in a folder like a clone. tests/lint/typed.py names
the pages that are typed elsewhere, and counts the blocks that no test can type."""

import json
import pathlib
import re
import secrets
import shutil
import sys

from harness import DEADLINE_S, check_facts, scenario
from local import cluster, processes
from local.servers import connects
from test_bulk import fail
from test_gateway import Gateway, TOKENS

sys.path.insert(0, str(cluster.REPOSITORY / "tests" / "first_hour"))

import page  # noqa: E402
from first_hour import READY, START_S, Typist, json_values  # noqa: E402

DOCS = "deploy/docs/"
PROGRAMS = ("makegood", "makegood-scheduler", "makegood-agent", "makegood-supervisor", "makegood-sample-remote")
DECLINED = "http_422"  # of the sample service's word "decline"


class Reader(Typist):
    """Types the commands of pages into a folder with the files of a clone and the programs on the path. `swaps` has what a reader
    replaces: addresses, and words in capitals."""

    def __init__(self, s, url=None):
        folder = s.scratch / "clone"
        super().__init__(folder, s.scratch, {
            **processes.plain_environment(), **s.cluster.env, **s.cluster.tool_env, "MAKEGOOD_MIGRATIONS": str(s.cluster.migrations),
            **({"MAKEGOOD_AMQP_URL": url} if url else {})})
        self.swaps = {}
        if not folder.exists():
            (folder / "build/demo/bin").mkdir(parents=True)
            for name in ("deploy", "proto", "tests"):
                (folder / name).symlink_to(cluster.REPOSITORY / name)
            for name in PROGRAMS:
                (folder / "build/demo/bin" / name).symlink_to(s.cluster.bin / name)
        self.environment["PATH"] = f"{folder}/build/demo/bin:/usr/bin:{self.environment['PATH']}"  # Debian's python3 has its pika

    def swap(self, command):
        for old, new in self.swaps.items():
            command = command.replace(old, str(new))
        return command

    def commands(self, name):
        return [self.swap(command) for command in page.commands_of(page.text_of(name))]

    def type(self, commands):
        """Types commands into one shell."""
        return self.run("set -eu\n" + "\n".join(commands))

    def type_page(self, name, **swaps):
        self.swaps |= swaps
        return self.type(self.commands(DOCS + name))

    def serve(self, s, command, port):
        """Types a command that stays until the end of the scenario."""
        process = self.stay(command, lambda _log: connects(port), f"port {port} is open", DEADLINE_S)
        s.others.append(process)
        return process


def managed_servers_are_prepared_and_checked(_s, reader):
    printed = reader.type_page("managed.md")
    assert "WRONG" not in printed, printed


def a_service_is_looked_at(_s, reader):
    assert "payment" in reader.type_page("observe.md")


def a_service_is_paused_limited_and_free_again(s, reader):
    reader.type_page("services.md")
    payment, = (row for row in json.loads(s.cluster.tool("service", "list", "-o", "json").stdout) if row["service"] == "payment")
    assert payment["state"] == "serving", payment


def a_service_is_tested(s, reader):
    printed = reader.type_page("service-test.md", **{"http://127.0.0.1:8082": s.remote("payment").url})
    assert "BROKEN" not in printed, printed


def a_schedule_is_loaded(s, reader):
    assert "nightly" in reader.type_page("schedules.md")
    s.cluster.tool("schedule", "delete", "nightly", "--reason", "a night may begin")


def a_policy_of_retention_is_set(s, reader):
    (s.scratch / "orders").mkdir()
    assert "30" in reader.type_page("retention.md", **{"/srv/orders": s.scratch / "orders"})


def tokens_and_secrets_are_made(_s, reader):
    reader.type_page("console.md")
    reader.type_page("waiting.md")
    assert re.fullmatch(r"operator otto [0-9a-f]{64}\n", (reader.folder / "tokens").read_text(encoding="ascii"))
    assert re.fullmatch(r"[0-9a-f]{64}\n", (reader.folder / "callback-secret").read_text(encoding="ascii"))


def a_users_passwords_become_definitions(_s, reader):
    (reader.folder / "secrets").mkdir()
    for user in ("scheduler", "supervisor", "operator", "gateway", "deployer", "admin"):
        (reader.folder / "secrets" / user).write_text("password\n", encoding="ascii")
    reader.type(reader.commands("deploy/rabbitmq/README.md"))
    users = json.loads((reader.folder / "definitions.json").read_text(encoding="utf-8"))["users"]
    assert {"agent-mailing", "client-shop"} <= {user["name"] for user in users}, users


def orders_pass_the_gateway(s, reader):
    gateway = Gateway(s, tokens=[("submit,read,cancel,signal", "shop", TOKENS["shop"])])
    gateway.process.wait_ready()
    reader.environment["token"] = TOKENS["shop"]
    (reader.folder / "orders.ndjson").write_text('{"order_id": "third", "workflow": "three", "payload": {"n": 3}}\n', encoding="ascii")
    s.cluster.tool("broker", "apply", "--client", "shop")
    printed = reader.type_page("gateway.md", **{"127.0.0.1:9280": f"127.0.0.1:{gateway.port}"})
    assert '"state": "processed"' in printed and "event: processed" in printed and '"third"' in printed, printed
    assert not re.search(r'"status": ?40[0134]', printed), printed
    assert (reader.folder / "tokens").read_text(encoding="ascii").count("submit,read,cancel,signal shop") == 1
    gateway.get("third")


def an_order_is_explained(s, reader):
    order = s.client.submit()
    s.client.wait_status(order, "processed")
    printed = reader.type_page("troubleshooting.md", ORDER=order.order_id)
    assert "processed" in printed and "WRONG" not in printed, printed


def orders_of_one_cause_are_resumed(s, reader):
    orders = fail(s, 2, "declined")
    reader.swaps |= {"--workflow fulfilment": "--workflow declined", "http_503": DECLINED}
    *first, last = reader.commands(DOCS + "bulk.md")
    s.remote("payment").switch("order")
    reader.type(first)
    bulk = s.rows("SELECT bulk_id FROM bulk")[0]["bulk_id"]
    runner = s.bulk_runner()
    for order in orders:
        s.wait_state(order, "processed")
    assert bulk in reader.type([last.replace("BULK", bulk)])
    runner.terminate()


def dead_letters_are_read_sent_back_and_dropped(s, reader):
    for number in range(3):
        s.client.publish("no JSON", "scheduler.replies", exchange="", message_id=f"letter-{number}")
    s.wait(lambda: s.client.depth("dead.letters") == 3, "three letters are dead")
    reader.type_page("dead-letters.md")
    s.cluster.tool("dead", "drop", "--all", "--reason", "seen")


FACTS = (managed_servers_are_prepared_and_checked, a_service_is_looked_at, a_service_is_paused_limited_and_free_again, a_service_is_tested,
         a_schedule_is_loaded, a_policy_of_retention_is_set, tokens_and_secrets_are_made, a_users_passwords_become_definitions,
         an_order_is_explained, orders_pass_the_gateway, orders_of_one_cause_are_resumed, dead_letters_are_read_sent_back_and_dropped)


@scenario(long="every command of the pages is a program of its own")
def the_commands_of_the_operators_pages_run(s):
    """Would catch: a command of a page that is refused, or whose output is not what the page says."""
    s.cluster.tool("workflow", "load", cluster.SAMPLE / "workflows" / "fulfilment.json")
    check_facts(s, FACTS, Reader(s))


@scenario(schedulers=0, agents=0, supervisors=0, long="every command of the page is a program of its own")
def a_bare_installation_is_typed_from_its_page(s):
    """Would catch: a bare installation by the page's commands whose services are not ready, or whose doctor is not content."""
    reader = Reader(s)
    ports = {f"127.0.0.1:{number}": processes.free_port() for number in (9101, 9102, 9103, 9104)}
    reader.swaps = {place: f"127.0.0.1:{port}" for place, port in ports.items()}
    services = s.scratch / "services"
    services.mkdir()
    for service in cluster.SERVICES:
        shutil.copy(s.cluster.service_file(service), services / f"{service}.json")
    reader.swaps |= {"deploy/sample/services/payment.json": services / "payment.json", "/etc/makegood/services": services}
    own = [command for command in reader.commands(DOCS + "install.md") if command.startswith("makegood")]
    stay = [command for command in own if command.startswith("makegood-")]
    assert len(stay) == 3 and own[-1] == "makegood doctor", own
    for command in own[:-1]:
        if command in stay:
            reader.serve(s, command, int(command.rsplit(":", 1)[1]))
        else:
            reader.run(command)
    serve, setting = reader.commands(DOCS + "agents.md")
    reader.run(setting)
    reader.serve(s, serve, ports["127.0.0.1:9104"])
    s.wait(lambda: all(s.client.consumers(f"agent.{service}.requests") for service in cluster.SERVICES), "each service has an agent")
    s.wait(lambda: s.cluster.tool("doctor", check=False).returncode == 0, "the doctor is content")
    reader.run(own[-1])


@scenario(services=(), schedulers=0, agents=0, supervisors=0, long="the rules are tested, each by requests of its own")
def agents_and_clients_are_tested_by_their_pages(s):
    """Would catch: a page whose command for a test of one's own agent or client is refused, or finds the examples at fault."""
    name = "e2e_" + secrets.token_hex(6)
    s.servers.rabbit.create_vhost(name)
    reader = Reader(s)
    reader.swaps = {"amqp://guest:guest@127.0.0.1:5672/trial": s.servers.rabbit.url_of(name)}
    for title in ("agent-test.md", "client-test.md"):
        test, prepare = reader.commands(DOCS + title)
        reader.run(prepare)
        if title == "agent-test.md":
            agent = processes.Process("greeting", ["/usr/bin/python3", cluster.REPOSITORY / "proto/clients/python/example_agent.py",
                                                   s.servers.rabbit.url_of(name)], s.scratch / "greeting.log").start()
            client = s.new_client_of(s.servers.rabbit.url_of(name))
            s.wait(lambda: client.consumers("agent.greeting.requests") == 1, "the agent consumes")
        assert "BROKEN" not in reader.run(test)
        if title == "agent-test.md":
            agent.terminate()


class Start:
    """The page start.md from `makegood init` on, and the page of the new project, for one language."""

    def __init__(self, s, language):
        self.reader = Reader(s)
        ports = {number: processes.free_port() for number in (9080, 9180, 9280)}
        self.ports = ports
        self.reader.swaps = {f"init node ../{'shop'}": f"init {language} ../{language}", "cd ../shop": f"cd ../{language}",
                             **{f"127.0.0.1:{number}": f"127.0.0.1:{port}" for number, port in ports.items()}, " 9080": f" {ports[9080]}"}
        init = [command for command in self.reader.commands(DOCS + "start.md") if "curl" not in command]
        self.reader.type([*init, "test -f README.md"])
        self.reader.folder = s.scratch / language
        file = self.reader.folder / "service.json"
        file.write_text(file.read_text(encoding="utf-8").replace(":9080", f":{ports[9080]}"), encoding="utf-8")

    def follow(self):
        reader, ports, answers = self.reader, self.ports, []
        for command in map(reader.swap, page.read_project(reader.folder)):
            if re.fullmatch(r"\S+ service\.\w+ \d+", command):
                reader.stay(command, lambda _log: connects(ports[9080]), "the service listens", DEADLINE_S)
            elif command.startswith("makegood dev "):
                places = f" --gateway 127.0.0.1:{ports[9280]} --console 127.0.0.1:{ports[9180]}"
                dev = reader.stay(command + places, lambda log: READY in log.read_text(encoding="utf-8"), "all is ready", START_S)
                first = reader.type([line for line in reader.commands(DOCS + "start.md") if line.startswith("curl")])
                assert json_values(first)[-1]["state"] == "processed", first
            else:
                answers.append(reader.run(command))
        good, dear = next(values for values in map(json_values, answers[1:-1]) if len(values) == 2)
        assert good["state"] == "processed" and good["output"]["charge"], good
        assert dear["state"] == "compensated" and dear["cause"]["code"] == "card_declined", dear
        assert "BROKEN" not in answers[-1], answers[-1]
        return dev


def start_a_project(s, language):
    dev = Start(s, language).follow()
    dev.ask_to_end()
    assert dev.wait_end(60) == 0, dev.tail()


@scenario(services=(), schedulers=0, agents=0, supervisors=0, long="`makegood dev` starts")
def a_new_project_in_node_is_typed_from_the_pages(s):
    """Would catch: a reader of start.md whose new project is refused, whose order is refused, or whose service breaks a promise."""
    if shutil.which("node"):
        start_a_project(s, "node")


@scenario(services=(), schedulers=0, agents=0, supervisors=0, long="`makegood dev` starts")
def a_new_project_in_python_is_typed_from_the_pages(s):
    """Would catch: the same in Python, where the page of the project has other commands."""
    start_a_project(s, "python")


@scenario(services=(), schedulers=0, agents=0, supervisors=0, long="`makegood dev` starts")
def makegood_dev_serves_the_services_of_its_page(s):
    """Would catch: a page of `makegood dev` with options that it refuses, or a service without an agent."""
    reader = Reader(s)
    (pathlib.Path(reader.folder) / "payment.json").write_text('{"service": "payment", "url": "http://127.0.0.1:9082"}\n', encoding="ascii")
    command, = reader.commands(DOCS + "dev.md")
    places = f" --gateway 127.0.0.1:{processes.free_port()} --console 127.0.0.1:{processes.free_port()}"
    dev = reader.stay(command + places, lambda log: READY in log.read_text(encoding="utf-8"), "all is ready", START_S)
    for service in ("shop", "payment"):
        s.wait(lambda service=service: s.client.consumers(f"agent.{service}.requests") == 1, f"an agent serves {service}")
    dev.ask_to_end()
    assert dev.wait_end(60) == 0, dev.tail()
