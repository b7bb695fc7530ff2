"""Servers on which each process has a user and a role of its own, with exactly the rights that deploy/ gives it."""

import secrets
import subprocess

from harness import Client
from local.cluster import REPOSITORY, SERVICES
from local.processes import Failure

MAKE_DEFINITIONS = REPOSITORY / "deploy" / "rabbitmq" / "make-definitions"
ROLES = REPOSITORY / "deploy" / "postgres" / "roles.sql"
CLIENTS = ("shop", "other")
AGENTS = (*SERVICES, "parcels")  # the last by a library, in tests of these
USERS = (("scheduler", "supervisor", "operator", "gateway", "deployer", "admin") + tuple(f"agent-{name}" for name in AGENTS)
         + tuple(f"client-{name}" for name in CLIENTS))
ROLE_NAMES = ("owner", "scheduler", "supervisor", "operator", "gateway", "reader")


def run(words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise Failure(f"{words[0]} failed: {done.stderr}")
    return done.stdout


class OwnAccess:
    """Makes the users and roles as an installation does, and holds their passwords. The user guest is deleted."""

    def __init__(self, both, scratch):
        self.both = both
        self.passwords = {name: secrets.token_hex(8) for name in USERS + tuple(f"makegood_{role}" for role in ROLE_NAMES)}
        folder = scratch / "secrets"
        folder.mkdir(mode=0o700)
        for name, password in self.passwords.items():
            (folder / name).write_text(password + "\n", encoding="ascii")
        words = [MAKE_DEFINITIONS, "--secrets", folder]
        for name in AGENTS:
            words += ["--service", name]
        for name in CLIENTS:
            words += ["--client", name]
        definitions = scratch / "definitions.json"
        definitions.write_text(run(words), encoding="ascii")
        both.rabbit.ctl("import_definitions", str(definitions))
        both.rabbit.ctl("delete_user", "guest")
        for _ in range(2):  # the second run must change nothing
            run([both.postgres.bin / "psql", "-X", "-q", "-f", ROLES, "-d", both.postgres.dsn],
                env={"MAKEGOOD_PASSWORD_FOLDER": str(folder), "PATH": "/usr/bin:/bin"})

    def url_of(self, user):
        return f"amqp://{user}:{self.passwords[user]}@127.0.0.1:{self.both.rabbit.port}/%2F"

    def dsn_of(self, role):
        name = f"makegood_{role}"
        return f"postgresql://{name}:{self.passwords[name]}@127.0.0.1:{self.both.postgres.port}/makegood"


def client_of(s, name):
    """A client that may write to the intake and read its own queue, nothing else."""
    s.cluster.tool("broker", "apply", "--client", name, env=s.cluster.env_of("deployer", None))
    client = Client(s.cluster.access.url_of(f"client-{name}"), f"client.{name}.statuses", f"makegood.intake.{name}")
    s.clients.append(client)
    return client
