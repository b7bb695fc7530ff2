"""Private servers: one PostgreSQL and one RabbitMQ node on loopback, with their data in a scratch folder.

They are servers as in production where it matters (fsync on, quorum queues on disk) and share nothing with a server that
runs on this machine already: own ports, own node name, own epmd, own cookie, own user.
"""

import fcntl
import glob
import json
import os
import pathlib
import pwd
import re
import secrets
import shutil
import socket
import subprocess
import time

from .processes import Failure, Process, free_port, plain_environment, wait_until

MAKE_CERTS = pathlib.Path(__file__).resolve().parents[1] / "tls" / "make-dev-certs"
CTL_S = 180.0    # of rabbitmqctl: alongside other work on two cores a minute is sometimes not enough
ACTOR = "makegood"  # whom RabbitMQ notes as the author of a change
PROGRAM_S = 300  # of initdb, pg_basebackup, psql: none waits for another process, but a disk may be busy
DATABASE = "makegood"
TEMPLATE = "makegood_template"
ROLE = "makegood"


def newest(pattern, what):
    """The match of a glob pattern with the highest version in its path."""
    found = sorted(glob.glob(pattern), key=lambda path: [int(part) for part in re.findall(r"\d+", path)])
    if not found:
        raise Failure(f"could not find {what} ({pattern}); deploy/local/install installs it")
    return pathlib.Path(found[-1])


class Certificates:
    """An authority of our own and what it signs, in `folder`: one folder a name, with ca.pem, cert.pem and key.pem."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def make(self, *words):
        """`words` as deploy/tls/make-dev-certs takes them behind the folder."""
        done = subprocess.run([str(MAKE_CERTS), str(self.folder), *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failure(f"make-dev-certs failed: {done.stderr}")
        return self

    @property
    def ca(self):
        return self.folder / "ca.pem"

    def of(self, name):
        """(certificate, key)"""
        return self.folder / name / "cert.pem", self.folder / name / "key.pem"


class Postgres:
    """A cluster of its own in `folder`; killed and started again, it recovers as after a power failure."""

    def __init__(self, folder, tls=None):
        self.folder = pathlib.Path(folder)
        self.tls = tls  # Certificates with one for "server": it speaks TLS, too
        self.bin = newest("/usr/lib/postgresql/*/bin", "PostgreSQL's server programs")
        self.data = self.folder / "data"
        self.port = free_port()
        self.password = secrets.token_hex(12)
        # postgres refuses to run as root; its own account exists wherever the package is installed.
        self.user = "postgres" if os.geteuid() == 0 else None
        self.process = None

    @property
    def dsn(self):
        return self.dsn_of(DATABASE)

    def dsn_of(self, database):
        return f"postgresql://{ROLE}:{self.password}@127.0.0.1:{self.port}/{database}"

    @property
    def tls_dsn(self):
        return self.tls_dsn_of(DATABASE)

    def tls_dsn_of(self, database):
        return f"{self.dsn_of(database)}?sslmode=verify-full&sslrootcert={self.tls.ca}"

    def use_certificate(self, name):
        """Shows the certificate of this name from the next start or reload on."""
        for path, target in zip(self.tls.of(name), ("server.crt", "server.key")):
            self.take(path, target)

    def take_ca(self):
        """The CA's file, where the server may read it."""
        return self.take(self.tls.ca, "ca.crt")

    def take(self, path, name):
        target = self.folder / name
        shutil.copy(path, target)
        target.chmod(0o600)
        if self.user is not None:
            shutil.chown(target, self.user, self.user)
        return target

    def create(self):
        self.folder.mkdir(parents=True)
        password_file = self.folder / "password"
        password_file.write_text(self.password, encoding="ascii")
        if self.user is not None:
            account = pwd.getpwnam(self.user)
            for path in (self.folder, password_file):
                os.chown(path, account.pw_uid, account.pw_gid)
        self.run("initdb", "--pgdata", self.data, "--username", ROLE, "--pwfile", password_file, "--encoding", "UTF8",
                 "--locale", "C.UTF-8", "--auth", "scram-sha-256", "--no-instructions")
        settings = {
            "listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": self.folder,
            "fsync": "on", "synchronous_commit": "on", "shared_buffers": "64MB", "max_connections": "120",
            "max_prepared_transactions": "8",
            "log_min_messages": "warning", "log_line_prefix": "%m [%p] %a ", "timezone": "UTC",
        }
        if self.tls is not None:
            self.use_certificate("server")
            settings.update(ssl="on", ssl_cert_file=self.folder / "server.crt", ssl_key_file=self.folder / "server.key")
        self.set(settings)
        self.process = Process("postgres", [self.bin / "postgres", "-D", self.data], self.folder.parent / "postgres.log",
                               user=self.user, cwd="/")

    def set(self, settings):
        """Writes {name: value} down. They count from the next start or reload on."""
        with open(self.data / "postgresql.auto.conf", "a", encoding="utf-8") as conf:
            conf.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    def run(self, program, *words):
        prefix = ["runuser", "-u", self.user, "--"] if self.user is not None else []
        done = subprocess.run(prefix + [str(self.bin / program)] + [str(word) for word in words], cwd="/",
                              capture_output=True, text=True, check=False, timeout=PROGRAM_S)
        if done.returncode != 0:
            raise Failure(f"{program} failed with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def start(self):
        self.process.start()

    def accepts(self):
        done = subprocess.run([self.bin / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port), "-t", "2"], check=False)
        return done.returncode == 0

    def wait_ready(self, timeout_s=60.0):
        # After a kill the old shared memory can be in use for a moment; the server then ends at once and is started again.
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                wait_until(lambda: self.accepts() or not self.process.is_running(), "PostgreSQL accepts connections",
                           max(1.0, deadline - time.monotonic()))
            except Failure as failure:
                raise Failure(f"{failure}\n{self.process.tail()}") from None
            if self.process.is_running():
                return
            if time.monotonic() > deadline or "pre-existing shared memory" not in self.process.tail():
                raise Failure(f"PostgreSQL ended with {self.process.popen.returncode}\n{self.process.tail()}")
            self.process.start()

    def psql(self, sql, database=DATABASE):
        """Runs SQL and returns its rows as lists of texts. For programs that have no other client at hand."""
        done = subprocess.run([self.bin / "psql", "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-d",
                               self.dsn_of(database), "-c", sql], capture_output=True, text=True, check=False,
                              timeout=PROGRAM_S)
        if done.returncode != 0:
            raise Failure(f"psql failed: {done.stderr.strip()}: {sql}")
        return [line.split("\t") for line in done.stdout.splitlines()]

    def create_database(self, database, template="template1"):
        self.psql(f'CREATE DATABASE "{database}" TEMPLATE "{template}" ENCODING UTF8', "postgres")

    def template(self, fill):
        """The name of a database to copy: made at the first call by any program, and filled by fill(dsn)."""
        with open(self.folder / "template.lock", "a", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self.psql(f"SELECT 1 FROM pg_database WHERE datname = '{TEMPLATE}' AND datistemplate", "postgres"):
                self.psql(f'DROP DATABASE IF EXISTS "{TEMPLATE}"', "postgres")  # of a call that failed half-way
                self.create_database(TEMPLATE)
                fill(self.dsn_of(TEMPLATE))
                self.psql(f'ALTER DATABASE "{TEMPLATE}" IS_TEMPLATE true ALLOW_CONNECTIONS false', "postgres")
        return TEMPLATE

    def kill(self):
        self.process.kill()

    def restart(self):
        self.start()
        self.wait_ready()


class Rabbit:
    """One RabbitMQ node in `folder`. Its epmd is our own child, so that none is left behind and none is borrowed. With
    `first`, a node that is started already, it has that one's epmd and cookie, and may join it. The register of a cluster is
    RabbitMQ 3's Mnesia, which asks no majority: each node goes on without the other. (With Khepri one of two would not.)"""

    def __init__(self, folder, tls=None, first=None):
        self.folder = pathlib.Path(folder)
        self.first = first
        self.tls = tls  # Certificates with one for "server": it listens with TLS, too, and wants a certificate of clients
        self.tls_port = free_port() if tls is not None else None
        self.sbin = newest("/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin", "RabbitMQ's server programs")
        self.port, self.dist_port = free_port(), free_port()
        self.epmd_port = free_port() if first is None else first.epmd_port
        self.node = f"makegood-{self.port}@localhost"
        self.epmd = None
        self.process = None

    @property
    def url(self):
        return self.url_of("%2F")

    def url_of(self, vhost):
        return f"amqp://guest:guest@127.0.0.1:{self.port}/{vhost}"

    @property
    def tls_url(self):
        return self.tls_url_of("%2F")

    def tls_url_of(self, vhost):
        return f"amqps://guest:guest@127.0.0.1:{self.tls_port}/{vhost}"

    def use_certificate(self, name):
        """Shows the certificate of this name to whoever connects from now on."""
        for path, target in zip(self.tls.of(name), ("server.pem", "server-key.pem")):
            shutil.copy(path, self.folder / target)
        if self.process is not None and self.process.is_running():
            self.ctl("eval", "ssl:clear_pem_cache().")

    def tls_settings(self):
        self.use_certificate("server")
        return (f"listeners.ssl.1 = 127.0.0.1:{self.tls_port}\nlisteners.ssl.2 = 127.0.0.2:{self.tls_port}\n"
                f"ssl_options.cacertfile = {self.tls.ca}\nssl_options.certfile = {self.folder / 'server.pem'}\n"
                f"ssl_options.keyfile = {self.folder / 'server-key.pem'}\n"
                "ssl_options.verify = verify_peer\nssl_options.fail_if_no_peer_cert = true\n")

    @property
    def env(self):
        return {
            "HOME": str(self.folder), "RABBITMQ_NODENAME": self.node, "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1", "RABBITMQ_DIST_PORT": str(self.dist_port),
            "ERL_EPMD_PORT": str(self.epmd_port), "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_MNESIA_BASE": str(self.folder / "mnesia"), "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "enabled_plugins"),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq.conf"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(self.folder / "advanced.config"),
            "RABBITMQ_PID_FILE": str(self.folder / "pid"), "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS":
                "+sbwt none +sbwtdcpu none +sbwtdio none -kernel inet_dist_use_interface {127,0,0,1}",
            "RUNNING_UNDER_SYSTEMD": "true",  # the start script becomes the server instead of watching over it
        }

    def create(self):
        for name in ("mnesia", "log"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "enabled_plugins").write_text("[].\n", encoding="ascii")
        (self.folder / "advanced.config").write_text("[].\n", encoding="ascii")
        (self.folder / "rabbitmq.conf").write_text(
            "loopback_users.guest = true\nheartbeat = 10\ndisk_free_limit.absolute = 50MB\n"
            "vm_memory_high_watermark.relative = 0.4\nlog.file.level = notice\nlog.console = false\n"
            + (self.tls_settings() if self.tls is not None else ""), encoding="ascii")
        cookie = self.folder / ".erlang.cookie"
        cookie.write_text(self.first.cookie if self.first is not None else secrets.token_hex(16), encoding="ascii")
        cookie.chmod(0o400)
        logs = self.folder.parent
        self.epmd = self.first.epmd if self.first is not None else self.make_epmd(logs / "epmd.log")
        name = "rabbitmq" if self.first is None else f"rabbitmq-{self.port}"
        self.process = Process(name, [self.sbin / "rabbitmq-server"], logs / f"{name}.log", env=self.env, cwd="/")

    def make_epmd(self, log):
        epmd = shutil.which("epmd", path=os.environ.get("PATH", "") + ":/usr/bin:/usr/sbin")
        if epmd is None:
            raise Failure("could not find epmd; deploy/local/install installs it with rabbitmq-server")
        return Process("epmd", [epmd, "-port", self.epmd_port, "-address", "127.0.0.1"], log)

    @property
    def cookie(self):
        return (self.folder / ".erlang.cookie").read_text(encoding="ascii")

    def start(self):
        if not self.epmd.is_running():
            self.epmd.start()
            wait_until(lambda: connects(self.epmd_port), "epmd accepts connections", alive=self.epmd)
        self.process.start()

    def greets(self):
        """True if the broker answers the AMQP 0-9-1 protocol header with connection.start (class 10, method 10)."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as peer:
                peer.sendall(b"AMQP\x00\x00\x09\x01")
                head = peer.recv(11)
                return head[:3] == b"\x01\x00\x00" and head[7:11] == b"\x00\x0a\x00\x0a"
        except OSError:
            return False

    def wait_ready(self, timeout_s=90.0):
        wait_until(self.greets, "RabbitMQ speaks AMQP", timeout_s, alive=self.process)

    def ctl(self, *words, timeout_s=CTL_S, program="rabbitmqctl"):
        environment = plain_environment()
        environment.update(self.env)
        done = subprocess.run([self.sbin / program, "--node", self.node, "--silent", *words], env=environment,
                              capture_output=True, text=True, check=False, timeout=timeout_s, cwd="/")
        if done.returncode != 0:
            raise Failure(f"{program} {' '.join(words)} failed: {done.stdout}{done.stderr}")
        return done.stdout

    def manage(self, function, *texts, ctl):
        """Calls a function of the node with these binaries. erl_call, which belongs to Erlang, needs milliseconds for it; where it
        is missing or fails, rabbitmqctl does the same with the words of `ctl`. That starts a virtual machine for each call: up to a
        second of a processor."""
        environment = plain_environment()
        environment.update(self.env)
        binaries = ", ".join('<<"' + text.replace("\\", "\\\\").replace('"', '\\"') + '">>' for text in (*texts, ACTOR))
        try:
            done = subprocess.run(["erl_call", "-R", "-n", self.node, "-e"], env=environment, input=f"{function}({binaries}).\n",
                                  capture_output=True, text=True, check=False, timeout=CTL_S, cwd="/")
            if done.stdout.strip() == "{ok, ok}":
                return
        except FileNotFoundError:
            pass
        self.ctl(*ctl)

    def join(self):
        self.ctl("stop_app")
        self.ctl("join_cluster", self.first.node)
        self.ctl("start_app")

    def create_vhost(self, vhost):
        self.manage("rabbit_vhost:add", vhost, ctl=("add_vhost", vhost))
        self.set_permissions("guest", ".*", ".*", ".*", vhost)

    def open_api(self):
        """Enables the management plugin; returns the address of its API."""
        port = free_port()
        self.ctl("eval", f'application:set_env(rabbitmq_management, tcp_config, [{{port, {port}}}, {{ip, "127.0.0.1"}}], '
                         "[{persistent, true}]).")
        self.ctl("enable", "rabbitmq_management", program="rabbitmq-plugins")
        return f"http://127.0.0.1:{port}"

    def add_user(self, name, password):
        self.manage("rabbit_auth_backend_internal:add_user", name, password, ctl=("add_user", name, password))

    def change_password(self, name, password):
        self.manage("rabbit_auth_backend_internal:change_password", name, password, ctl=("change_password", name, password))

    def set_permissions(self, user, configure, write, read, vhost="/"):
        self.manage("rabbit_auth_backend_internal:set_permissions", user, vhost, configure, write, read,
                    ctl=("set_permissions", "--vhost", vhost, user, configure, write, read))

    def kill(self):
        self.process.kill()

    def restart(self):
        self.start()
        self.wait_ready()

    def stop(self):
        """In good order. RabbitMQ writes the register of its quorum queues behind their declaration: one that was declared
        less than a second before a kill -9 may never come up again."""
        self.process.terminate()

    def settle(self):
        """Stops it and starts it again: from now on it may be killed."""
        self.stop()
        self.restart()


class SecondRabbit(Rabbit):
    """A second node. Its death costs each queue that it shares with the first node the majority, and no other queue. While
    it runs, a quorum queue declared without `x-quorum-initial-group-size` of 1 is shared, too."""

    def __init__(self, folder, first):
        super().__init__(folder, first=first)

    def start_joined(self):
        self.create()
        self.restart()
        self.join()
        self.wait_ready()
        return self

    def share(self, queue, vhost="/", is_led=False):
        """Becomes the second member of a quorum queue of the first, and with is_led its leader. The register of its queues is
        written down at once, so that it may be killed (see Rabbit.stop)."""
        self.first.ctl("add_member", "--vhost", vhost, queue, self.node, program="rabbitmq-queues")
        self.ctl("eval", "[ok = dets:sync(Table) || Table <- dets:all()].")
        if is_led:
            self.first.ctl("eval", f'{{ok, Q}} = rabbit_amqqueue:lookup(rabbit_misc:r(<<"{vhost}">>, queue, <<"{queue}">>)), '
                                   f"rabbit_quorum_queue:transfer_leadership(Q, '{self.node}').")

    def give_back(self, queue, vhost="/"):
        self.first.ctl("delete_member", "--vhost", vhost, queue, self.node, program="rabbitmq-queues")

    def leave(self):
        """When it shares nothing any more: then the first is alone again."""
        self.stop()
        self.first.ctl("forget_cluster_node", self.node)


def connects(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2):
            return True
    except OSError:
        return False


class Servers:
    """The two of them, started together in `scratch`."""

    def __init__(self, scratch, tls=False):
        scratch = pathlib.Path(scratch)
        self.tls = Certificates(scratch / "tls") if tls else None
        self.postgres = Postgres(scratch / "postgres", self.tls)
        self.rabbit = Rabbit(scratch / "rabbit", self.tls)

    def start(self):
        if self.tls is not None:
            self.tls.make("--host", "server", "--client", "client")
        self.rabbit.create()
        self.rabbit.start()
        self.postgres.create()
        self.postgres.start()
        self.postgres.wait_ready()
        self.postgres.create_database(DATABASE)
        self.rabbit.wait_ready()
        return self


def describe(both, path):
    """Writes down how to reach servers that run, for another program of this package."""
    text = json.dumps({
        "postgres": {"folder": str(both.postgres.folder), "port": both.postgres.port, "password": both.postgres.password},
        "rabbit": {"folder": str(both.rabbit.folder), "node": both.rabbit.node, "port": both.rabbit.port,
                   "dist_port": both.rabbit.dist_port, "epmd_port": both.rabbit.epmd_port},
    })
    # The cookie in `folder` is root's or ours alone, and so is this file with its password.
    with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        file.write(text)


def attach(path):
    """Servers that another program started and described: to be used, not to be started or killed."""
    described = json.loads(pathlib.Path(path).read_text(encoding="ascii"))
    both = Servers(pathlib.Path(described["rabbit"]["folder"]).parent)
    for server, values in ((both.postgres, described["postgres"]), (both.rabbit, described["rabbit"])):
        for name, value in values.items():
            setattr(server, name, value if name != "folder" else pathlib.Path(value))
    return both
