"""The stage of a measurement: private servers, the benchmark's remote service, and Makegood with N of each process.

The servers are those of deploy/local with fsync and synchronous_commit on. The few settings below are those of any operator with
more than a corner of a machine for PostgreSQL. They are the same for the limit and for Makegood.
"""

import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path.insert(0, str(REPOSITORY / "deploy"))

from local import cluster, processes, servers  # noqa: E402

SERVICE = "bench"
SETTINGS = {
    "shared_buffers": "512MB",
    "max_wal_size": "4GB",               # a checkpoint by time, not every few seconds by size
    "min_wal_size": "1GB",               # segments are used again, as on a server that has run for a while
}
STATEMENTS = {"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track": "top"}
# A new server makes each segment of its log anew, at twice the writes of one that has segments to use again.
SEASON = """CREATE TABLE season (n int);
DO $$ BEGIN FOR n IN 1..48 LOOP INSERT INTO season VALUES (n); PERFORM pg_switch_wal(); END LOOP; END $$"""
JIT_PERF = "+JPperf true"                # makes Erlang give perf the names of its compiled functions


class PerfRabbit(servers.Rabbit):
    """A broker with function names for perf. For profiles only, never for measurements."""

    @property
    def env(self):
        env = super().env
        env["RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS"] += " " + JIT_PERF
        return env


class BenchCluster(cluster.Cluster):
    """Makegood with one service, for which the benchmark's own remote answers."""

    def __init__(self, *words, remote_url=None, concurrency=None, **options):
        super().__init__(*words, services=(SERVICE,), workflows=None, **options)
        self.remote_url, self.concurrency = remote_url, concurrency

    def service_file(self, name):
        definition = {"service": name, "url": self.remote_url}
        if self.concurrency:
            definition["concurrency"] = self.concurrency
        target = self.scratch / f"service-{name}.json"
        target.write_text(json.dumps(definition), encoding="utf-8")
        return target

    def prepare(self):
        super().prepare()
        self.tool("workflow", "load", HERE / "bench.workflow.json")

    def resize(self, schedulers, agents):
        """That many of each: the youngest are ended, or new ones started and ready."""
        for kind, running, wanted in (("scheduler", self.schedulers, schedulers), ("agent", self.agents, agents)):
            while len(running) > wanted:
                youngest = running.pop()
                youngest.ask_to_end()
                youngest.wait_end()
            while len(running) < wanted:
                number = len(running) + 1
                process = self.make_agent(SERVICE, number) if kind == "agent" else self.make(kind, f"{kind}-{number}")
                running.append(process.start().wait_ready())


class Stage:
    """Servers and one remote; clusters come and go on it. `look`: with profiling extensions, at some cost."""

    def __init__(self, build, look=False):
        self.bin = pathlib.Path(build) / "bin"
        self.build = build
        self.scratch = cluster.make_scratch("makegood-bench-")
        self.postgres = servers.Postgres(self.scratch / "postgres")
        self.rabbit = (PerfRabbit if look else servers.Rabbit)(self.scratch / "rabbit")
        self.look = look
        self.remote_port = None
        self.remote = None
        self.cluster = None
        self.number = 0

    def start(self):
        self.rabbit.create()
        self.rabbit.start()
        self.postgres.create()
        self.postgres.set({**SETTINGS, **(STATEMENTS if self.look else {})})
        self.postgres.start()
        self.postgres.wait_ready()
        self.postgres.psql(SEASON, "postgres")
        self.postgres.psql("CHECKPOINT", "postgres")
        self.rabbit.wait_ready()
        self.start_remote()
        return self

    def start_remote(self, delay_ms=0):
        if self.remote is not None:
            self.remote.kill()
        self.remote_port = processes.free_port()
        self.remote = processes.Process("remote", [self.bin / "makegood-bench-remote", self.remote_port, delay_ms],
                                        self.scratch / "remote.log").start()
        processes.wait_until(lambda: servers.connects(self.remote_port), "the remote listens", alive=self.remote)

    @property
    def remote_url(self):
        return f"http://127.0.0.1:{self.remote_port}"

    def place(self, name):
        """A new database and a new virtual host."""
        self.number += 1
        place = f"{name}{self.number}"
        self.postgres.create_database(place)
        self.rabbit.create_vhost(place)
        if self.look:
            self.postgres.psql("CREATE EXTENSION IF NOT EXISTS pg_stat_statements", place)
        return place, self.postgres.dsn_of(place), self.rabbit.url_of(place)

    def cluster_at(self, name, **options):
        """A cluster in a place of its own, not started."""
        place, dsn, url = self.place(name)
        scratch = self.scratch / place
        scratch.mkdir()
        scratch.chmod(0o711)
        made = BenchCluster(scratch, self.build, dsn, url, remote_url=self.remote_url,
                            **{"schedulers": 1, "agents": 1, "supervisors": 1, **options})
        made.place, made.dsn, made.url = place, dsn, url
        return made

    def leave(self, made):
        """Ends a cluster and drops its place, so that the next one has the servers to itself."""
        made.stop()
        self.drop(made.place)

    def drop(self, place):
        self.rabbit.ctl("delete_vhost", place)
        self.postgres.psql(f'DROP DATABASE "{place}" WITH (FORCE)', "postgres")
        self.postgres.psql("CHECKPOINT", "postgres")

    def run(self, program, *words, timeout_s=3600):
        """Runs one of the benchmark's programs to its end and returns its parsed JSON output."""
        log = self.scratch / "programs.log"
        with open(log, "ab") as errors:
            child = subprocess.Popen([str(self.bin / f"makegood-bench-{program}")] + [str(word) for word in words],
                                     stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            text, _ = child.communicate(timeout=timeout_s)
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
        if child.returncode != 0:
            raise processes.Failure(f"makegood-bench-{program} ended with {child.returncode}: {text}{processes.end_of(log)}")
        return json.loads(text)

    def end(self):
        processes.end_all()
        cluster.remove_scratch(self.scratch)
