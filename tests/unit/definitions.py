#!/usr/bin/python3
"""definitions.py SOURCE: RabbitMQ can read the output of deploy/rabbitmq/make-definitions, with the passwords of the files."""

import base64
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(sys.argv[1]) / "deploy" / "rabbitmq"
FIXED = ("scheduler", "supervisor", "operator", "gateway", "deployer", "admin")


class Definitions(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.secrets = pathlib.Path(scratch.name)
        for user in FIXED + ("agent-mailing", "agent-post_2", "client-shop"):
            self.put(user, f"pass of {user} \\ % $x 'é\"\n")

    def put(self, user, text):
        (self.secrets / user).write_text(text, encoding="utf-8")

    def run_script(self, *words):
        return subprocess.run([FOLDER / "make-definitions", "--secrets", self.secrets, *words], capture_output=True, text=True,
                              check=False)

    def make(self, *words):
        done = self.run_script(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertNotIn("pass of", done.stdout)
        self.assertNotRegex(done.stdout, "@[a-z]+@")
        return json.loads(done.stdout)

    def test_the_template_itself_is_json(self):
        json.loads((FOLDER / "definitions.json").read_text(encoding="utf-8"))

    def test_each_user_has_the_password_of_its_file_and_permissions(self):
        made = self.make("--service", "mailing", "--service", "post_2", "--client", "shop")
        names = [user["name"] for user in made["users"]]
        self.assertCountEqual(names, FIXED + ("agent-mailing", "agent-post_2", "client-shop"))
        self.assertEqual([permission["user"] for permission in made["permissions"]], names)
        salts = set()
        for user in made["users"]:
            kept = base64.b64decode(user["password_hash"], validate=True)
            password = (self.secrets / user["name"]).read_bytes().rstrip(b"\n")
            self.assertEqual(kept[4:], hashlib.sha256(kept[:4] + password).digest(), user["name"])
            salts.add(kept[:4])
        self.assertEqual(len(salts), len(names))

    def test_services_and_clients_reach_their_own_queues_only(self):
        made = self.make("--service", "mailing", "--service", "post_2", "--client", "shop")
        rights = {permission["user"]: permission for permission in made["permissions"]}
        control = ("amq.gen-x", "makegood.control.mailing")
        own = {"agent-mailing": ("agent.mailing.requests", "agent.mailing.requests.high", *control), "client-shop": ("client.shop.statuses",)}
        others = ("agent.post_2.requests", "agent.mailing2.requests", "agentXmailing.requests", "client.shop2.statuses",
                  "xclient.shop.statuses", "agent.post_2.control.1", "agent.mailing.control.1", "makegood.control.post_2",
                  "makegood.control", "orders.intake", "scheduler.replies", "dead.letters", "amq.gen-x")
        for user, queues in own.items():
            for queue in queues + others:
                self.assertEqual(bool(re.search(rights[user]["read"], queue)), queue in queues, f"{user} {queue}")
            for name in ("any", "agent.mailing.control.1", "makegood.replies.mailing", "xamq.gen-x", *own[user]):
                may = user == "agent-mailing" and name == "amq.gen-x"  # a name that the broker gives to no exchange
                self.assertEqual(bool(re.search(rights[user]["configure"], name)), may, f"{user} {name}")
            self.assertIsNone(re.search(rights[user]["write"], "amq.default"))

    def test_each_user_has_a_right_to_the_queues_whose_depth_it_reads(self):
        """From 4.2.7 on RabbitMQ refuses a passive declaration to a user without any right to the queue."""
        rights = {permission["user"]: permission for permission in self.make("--service", "mailing")["permissions"]}
        requests = ("agent.mailing.requests", "agent.post_2.requests.high")
        common = ("orders.intake", "orders.intake.high", "scheduler.replies", "scheduler.commands", "orders.signals", "orders.rejected",
                  "operator.alerts",
                  "dead.letters", *requests)
        read = {"scheduler": common, "supervisor": common, "operator": common, "agent-mailing": ("makegood.control.mailing",),
                "gateway": ("client.shop.statuses", "client.shop.webhook")}
        for user, names in read.items():
            for name in names:
                self.assertTrue(any(re.search(rights[user][right], name) for right in ("write", "read")), f"{user} {name}")
            self.assertFalse(any(re.search(rights[user][right], "client.shop.other") for right in ("write", "read")), user)

    def test_without_services_and_clients_it_is_json_too(self):
        self.assertEqual(len(self.make()["users"]), len(FIXED))

    def test_names_of_files_may_have_a_prefix(self):
        for user in FIXED:
            (self.secrets / user).rename(self.secrets / f"amqp-{user}")
        self.make("--prefix", "amqp-")

    def test_missing_or_wrong_secrets_are_named_and_nothing_is_printed(self):
        self.put("agent-blank", "\n")
        for words, said in ((("--service", "absent"), "agent-absent"), (("--service", "blank"), "agent-blank"),
                            (("--service", "a.b"), "a.b"), (("--client", "Shop"), "Shop"), (("--service",), "--service"),
                            (("--wrong", "x"), "--wrong")):
            done = self.run_script(*words)
            self.assertEqual((done.returncode, done.stdout), (1, ""), words)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
