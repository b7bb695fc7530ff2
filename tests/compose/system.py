"""The system in containers, as docker-compose.yml describes it, under a project name of its own."""

import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile

from local import cluster, processes

REPOSITORY = cluster.REPOSITORY
PARTS = ("scheduler", "supervisor", "agents")
EDGE = ("gateway", "console")  # reached from the host
SERVERS = ("postgres", "rabbitmq")
ONE_SHOTS = ("setup", "roles", "migrate")
# The limit of an engine's command on a busy machine; a build has its own limit.
COMMAND_S = 300.0
BUILD_S = 1800.0


def run(words, timeout_s=COMMAND_S, check=True, stdin=None, **options):
    """Runs a program; returns the finished process, its output as text."""
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=timeout_s,
                              errors="replace", input=stdin, **options)
    except subprocess.TimeoutExpired as expired:
        raise processes.Failure(f"{' '.join(map(str, words))} did not end within {timeout_s:g} s") from expired
    if check and done.returncode != 0:
        raise processes.Failure(f"{' '.join(map(str, words))} ended with {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done


def compose_program():
    if "COMPOSE" in os.environ:  # "docker-compose", where both are installed
        return os.environ["COMPOSE"].split()
    return ["docker", "compose"] if run(["docker", "compose", "version"], check=False).returncode == 0 else ["docker-compose"]


def fresh_copy(folder):
    """The files of a clone: those that git tracks or would add."""
    names = run(["git", "-C", REPOSITORY, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]).stdout.split("\0")
    for name in filter(None, names):
        source, target = REPOSITORY / name, folder / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    return folder


class Remote:
    """One sample service, reached from inside its container: it is closed to the outside."""

    def __init__(self, system, service):
        self.system, self.service = system, service

    def ledger_report(self, query=""):
        (container,) = self.system.containers(self.service)
        status, text = self.system.fetch(container, self.system.remote_port, "/ledger" + query)
        if status != 200:
            raise processes.Failure(f"the ledger of {self.service} answers {status}: {text[:200]}")
        return json.loads(text)

    def entries(self):
        return {entry["key"]: entry for entry in self.ledger_report()["entries"]}


class System:
    def __init__(self, project, folder, files, env):
        self.project, self.folder = project, pathlib.Path(folder)
        self.is_tls = "deploy/compose.tls.yml" in files
        self.program = compose_program()
        self.remote_port = 8443 if self.is_tls else 8080
        self.env = dict(processes.plain_environment(), COMPOSE_PROJECT_NAME=project, COMPOSE_FILE=":".join(files), **env)
        for name in ("AMQP", "AMQPS", "RABBITMQ", "RABBITMQ_TLS", "PROMETHEUS", "GRAFANA", "GATEWAY", "CONSOLE"):
            self.env[f"MAKEGOOD_{name}_PORT"] = str(processes.free_port())
        self.remotes = {name: Remote(self, name) for name in cluster.SERVICES}

    # --- compose ----------------------------------------------------------------------------------------------------

    def compose(self, *words, **options):
        return run([*self.program, "--ansi", "never", *words], cwd=self.folder, env=self.env, **options)

    def containers(self, service, everyone=False):
        """The ids of a service's containers that run, or of all."""
        words = ["docker", "ps", "-q", "--no-trunc", "--filter", f"label=com.docker.compose.project={self.project}",
                 "--filter", f"label=com.docker.compose.service={service}", "--filter", "label=com.docker.compose.oneoff=False"]
        return run(words + (["-a"] if everyone else [])).stdout.split()

    def all_containers(self):
        return run(["docker", "ps", "-aq", "--no-trunc", "--filter", f"label=com.docker.compose.project={self.project}"]).stdout.split()

    def inspect(self, *containers):
        return json.loads(run(["docker", "inspect", *containers]).stdout) if containers else []

    def image_out_of_reach(self):
        """An image that is neither here nor can be pulled; None if there is none."""
        named = self.compose("--profile", "observability", "config", "--images", check=False).stdout.split()  # 1.29 names none
        base = re.findall("^FROM (\\S+:\\S+)", (self.folder / "deploy" / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
        for image in {*named, *base}:
            if not image.startswith("makegood") and run(["docker", "image", "inspect", image], check=False).returncode != 0 \
                    and run(["docker", "pull", "-q", image], check=False, timeout_s=BUILD_S).returncode != 0:
                return image
        return None

    def up(self, *words):
        self.compose("up", "-d", *words, timeout_s=BUILD_S)

    def unhealthy(self, services):
        """Texts about the containers of the services that are not yet in the expected state."""
        found = []
        for service in services:
            states = [(each["Name"], each["State"]) for each in self.inspect(*self.containers(service, everyone=True))]
            if not states:
                found.append(f"{service} has no container")
            for name, state in states:
                if state["Status"] != "running" or state.get("Health", {"Status": "healthy"})["Status"] != "healthy":
                    found.append(f"{name} is {state['Status']}, {state.get('Health', {}).get('Status', 'without a check')}")
        return found

    def wait_healthy(self, services, timeout_s=180.0):
        try:
            processes.wait_until(lambda: not self.unhealthy(services), "all containers are healthy", timeout_s)
        except processes.Failure as failure:
            raise processes.Failure(f"{failure}: {'; '.join(self.unhealthy(services))}\n{self.logs(lines=8)}") from None

    def logs(self, *services, lines=None):
        tail = [] if lines is None else ["--tail", str(lines)]
        done = self.compose("logs", "--no-color", *tail, *services, check=False)
        return done.stdout + done.stderr

    @staticmethod
    def log_of(container, since):
        done = run(["docker", "logs", "--since", str(since), container])
        return done.stdout + done.stderr

    def end(self):
        with contextlib.suppress(processes.Failure):  # an engine that hangs
            self.compose("--profile", "observability", "--profile", "tools", "down", "-v", "--remove-orphans", check=False)
        rest = self.all_containers()
        if rest:
            run(["docker", "rm", "-fv", *rest], check=False)

    # --- inspection -------------------------------------------------------------------------------------------------

    def execute(self, container, *words, check=True, timeout_s=COMMAND_S):
        return run(["docker", "exec", container, *words], check=check, timeout_s=timeout_s)

    def fetch(self, container, port, path):
        """(status, text) of an HTTP server inside a container, over its loopback; the image has no other HTTP client."""
        request = f"GET {path} HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n"
        if self.is_tls:
            tls = "/run/secrets/makegood/tls"
            script = (f"printf '{request}' | openssl s_client -quiet -verify_quiet -ign_eof -connect 127.0.0.1:{port} "
                      f"-CAfile {tls}/ca.pem -cert {tls}/cert.pem -key {tls}/key.pem")
        else:
            script = f"exec 3<>/dev/tcp/127.0.0.1/{port} && printf '{request}' >&3 && cat <&3"
        done = self.execute(container, "bash", "-c", script, check=False)
        head, _, body = done.stdout.replace("\r\n", "\n").partition("\n\n")
        words = head.split()
        return (int(words[1]), body) if len(words) > 1 and words[1].isdigit() else (0, done.stdout + done.stderr)

    def metric(self, container, name):
        """The sum of the series of this name in one container."""
        total = 0.0
        for line in self.fetch(container, 9100, "/metrics")[1].splitlines():
            series, _, value = line.rpartition(" ")
            if series.split("{", 1)[0] == name:
                total += float(value)
        return total

    def psql(self, query):
        """Rows as lists of texts."""
        (container,) = self.containers("postgres")
        text = self.execute(container, "psql", "-U", "postgres", "-d", "makegood", "-X", "-A", "-t", "-F", "\t", "-c", query).stdout
        return [line.split("\t") for line in text.splitlines()]

    def setup(self, *words):
        return self.compose("run", "--rm", "-T", "--no-deps", "setup", *words).stdout

    def starts(self):
        """When each container of the project began that is meant to go on, by its id."""
        running = [each for each in self.inspect(*self.all_containers()) if each["State"]["Running"]]
        return {each["Id"]: (each["Name"], each["State"]["StartedAt"]) for each in running}

    def assert_untouched(self, before, what):
        """Every container that ran before still runs, and was not started again."""
        now = self.starts()
        touched = sorted(name for identity, (name, began) in before.items() if now.get(identity, (name, None))[1] != began)
        if touched:
            raise processes.Failure(f"{what} restarted or replaced {', '.join(touched)}")

    def client_url(self, name):
        return self.setup("client-url", name).strip()

    def client_files(self, folder):
        """The certificates of a client on the host, over TLS."""
        archive = self.setup("client-files").encode()
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(folder, filter="data") if hasattr(tarfile, "data_filter") else files.extractall(folder)
        return folder

    def secrets(self):
        """Every password that setup has made, by name."""
        script = 'cd /volumes/setup && for file in *; do [ ! -f "$file" ] || echo "$file $(cat "$file")"; done'
        done = self.compose("run", "--rm", "-T", "--no-deps", "--entrypoint", "bash", "setup", "-c", script)
        return dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)

    def networks(self, container):
        return json.loads(run(["docker", "network", "inspect", *self.inspect(container)[0]["NetworkSettings"]["Networks"]]).stdout)

    def address(self, container):
        """Its addresses, by network."""
        networks = self.inspect(container)[0]["NetworkSettings"]["Networks"]
        return {name.removeprefix(self.project + "_"): each["IPAddress"] for name, each in networks.items()}
