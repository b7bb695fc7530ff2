#!/usr/bin/python3
"""dev_words.py MAKEGOOD SOURCE: the command line of `makegood dev`: each mistake is one clear line, before anything is started.

Would catch: a mistake that is found only after minutes, a message without the option's name, a state folder that two use.
"""
import fcntl
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest

TOOL, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith(("MAKEGOOD_", "PG"))}
# Nothing listens there: a start that goes so far fails, too, but with another line.
GIVEN = {"MAKEGOOD_AMQP_URL": "amqp://guest:guest@127.0.0.1:1/", "MAKEGOOD_PG_DSN": "host=127.0.0.1 port=1"}
DONE, ERROR, USAGE = 0, 1, 2
DOORS = ("--gateway", "127.0.0.1:19281", "--console", "127.0.0.1:19181")
MIGRATIONS = ("--migrations", str(SOURCE / "deploy/postgres"))


class Words(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def run_dev(self, *words, env=None, tool=(TOOL,)):
        return subprocess.run([*tool, "dev", *MIGRATIONS, *map(str, words)], env={**PLAIN, **(GIVEN if env is None else env)}, cwd=self.folder,
                              capture_output=True, text=True, check=False, timeout=60)

    def refused(self, code, text, *words, **options):
        done = self.run_dev(*words, *DOORS, **options)
        self.assertEqual(code, done.returncode, done)
        self.assertIn(text, done.stderr)
        self.assertEqual("", done.stdout, "something was started")

    def test_unknown_words(self):
        self.refused(USAGE, "--sevice", "--sevice", "a=http://127.0.0.1:1")
        self.refused(USAGE, "usage: makegood dev", "up")

    def test_addresses_of_the_doors(self):
        for address in ("9280", "127.0.0.1", "127.0.0.1:0", "shop:9280", ":9280", "127.0.0.1:http", "[::1:9280", "127.0.0.1:65536", "127.0.0.1:99999",
                        "127.0.0.1:18446744073709551616"):
            done = self.run_dev("--gateway", address)
            self.assertEqual(USAGE, done.returncode, done)
            self.assertIn(f"--gateway {address}: expected an address and a port", done.stderr)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            done = self.run_dev("--console", address, *DOORS[:2])
            self.assertEqual(ERROR, done.returncode, done)
            self.assertIn(f"--console {address}: cannot listen there: Address already in use; give another port", done.stderr)
        self.assertEqual([], os.listdir(self.folder))

    def test_two_doors_at_one_address(self):
        for gateway, console in (("127.0.0.1:19281", "127.0.0.1:19281"), ("0.0.0.0:19281", "127.0.0.1:19281"), ("[::1]:19281", "[::]:19281")):
            done = self.run_dev("--gateway", gateway, "--console", console)
            self.assertEqual(USAGE, done.returncode, done)
            self.assertIn(f"--console {console}: the gateway has this port", done.stderr)
        self.assertEqual([], os.listdir(self.folder))

    def test_folders_that_a_shell_would_read_otherwise(self):
        """Would catch: a folder in which RabbitMQ, whose scripts pass it to shells, never starts or runs a part of its name."""
        for name in ("quo'te", "dol$(touch pwned)x", "back`touch pwned`x", "semi;touch pwned", "new\nline", "star*", "a\\b"):
            for options in ({}, {"env": {}}):
                self.refused(USAGE, "its path has the character", "--state", name, **options)
        (self.folder / "o'dd").mkdir()
        (self.folder / "even").symlink_to("o'dd")
        self.refused(USAGE, "o'dd: its path has the character '", "--state", "even/state")
        self.assertEqual(["even", "o'dd"], sorted(os.listdir(self.folder)))
        self.refused(USAGE, "nowhere.json", "--state", "sp ace, ünï+@%=:1", "--service", "nowhere.json")

    def test_folders(self):
        self.refused(USAGE, "--workflows nowhere: there is no such folder", "--workflows", "nowhere")
        (self.folder / "file").touch()
        self.refused(USAGE, "--workflows file: there is no such folder", "--workflows", "file")
        self.refused(USAGE, "cannot read the folder nowhere: No such file or directory", "--migrations", "nowhere")
        self.refused(USAGE, "there is no file NNNN_name.sql in .", "--migrations", ".", env={})
        self.assertEqual(["file"], os.listdir(self.folder))
        self.refused(ERROR, "could not make nowhere/state: No such file or directory", "--state", "nowhere/state")

    def test_services(self):
        self.refused(USAGE, "--service Stock=http://127.0.0.1:1: before = stands a name", "--service", "Stock=http://127.0.0.1:1")
        self.refused(USAGE, "--service stock=htp:/x", "--service", "stock=htp:/x")
        self.refused(USAGE, "--service stock=", "--service", "stock=")
        self.refused(USAGE, "stock.json", "--service", "stock.json")
        (self.folder / "stock.json").write_text('{"service": "stock", "url": "http://127.0.0.1:1", "trys": 3}', encoding="utf-8")
        self.refused(USAGE, "/trys", "--service", "stock.json")
        (self.folder / "stock.json").write_text('{"service": "stock", "url": "http://127.0.0.1:1"}', encoding="utf-8")
        self.refused(USAGE, "service stock is given twice", "--service", "stock.json", "--service", "stock=http://127.0.0.1:2")

    def test_a_service_gets_the_file_of_the_sample(self):
        self.refused(USAGE, "nowhere.json", "--service", "payment=http://127.0.0.1:8082", "--service", "nowhere.json")
        made = json.loads((self.folder / ".makegood/services/payment.json").read_text(encoding="utf-8"))
        sample = json.loads((SOURCE / "deploy/sample/services/payment.json").read_text(encoding="utf-8"))
        del sample["$schema"]
        self.assertEqual(sample, made)

    def test_given_servers(self):
        self.refused(USAGE, "AMQP URL", env={**GIVEN, "MAKEGOOD_AMQP_URL": "http://127.0.0.1/"})
        self.refused(USAGE, "far.example.org", env={**GIVEN, "MAKEGOOD_PG_DSN": "host=far.example.org"})

    def test_a_state_folder_in_use(self):
        (self.folder / "state").mkdir()
        with open(self.folder / "state/lock", "w", encoding="ascii") as lock:
            lock.write("4711")
            lock.flush()
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.refused(ERROR, "another makegood dev (pid 4711) uses", "--state", "state")

    def test_secrets_are_for_their_user_alone(self):
        self.run_dev("--service", "nowhere.json", *DOORS)
        for name in ("lock",):
            self.assertEqual(0, (self.folder / ".makegood" / name).stat().st_mode & 0o077)

    @unittest.skipUnless(os.geteuid() == 0, "only root can hide the packages")
    def test_missing_packages(self):
        hidden = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /usr/lib/postgresql && exec "$@"', "sh", TOOL]
        self.refused(ERROR, "PostgreSQL is not installed; install with: apt install --no-install-recommends postgresql; "
                     "or give a running one with MAKEGOOD_PG_DSN", env={}, tool=hidden)
        hidden[4] = "mount -t tmpfs none /usr/lib/rabbitmq && " + hidden[4]
        self.refused(ERROR, "PostgreSQL and RabbitMQ are not installed; install with: apt install --no-install-recommends postgresql "
                     "rabbitmq-server; or", env={}, tool=hidden)

    @unittest.skipUnless(os.geteuid() == 0, "only root has a folder that PostgreSQL's account may not enter")
    def test_a_folder_that_postgresql_may_not_enter(self):
        done = self.run_dev(*DOORS, env={})
        self.assertEqual(ERROR, done.returncode, done)
        self.assertIn(f"the user postgres may not enter {self.folder}; run makegood dev as another user, or give another", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
