#!/usr/bin/python3
"""packaging.py SOURCE [TAG]: all packages have one version, and the workflows that make them run what is there.

With TAG, as v0.3.0, the version is the tag's. Would catch: a library that keeps the last release's version, a workflow that is no
YAML or that calls a script which was renamed, an image that can be built for one processor only.
"""
import json
import os
import pathlib
import re
import shlex
import sys
import unittest

import yaml

SOURCE = pathlib.Path(sys.argv[1]).resolve()
TAG = sys.argv[2] if len(sys.argv) > 2 else None
WORKFLOWS = sorted((SOURCE / ".github/workflows").glob("*.yml"))
OURS = ("deploy/", "tests/", ".ci/")


def read(name):
    return (SOURCE / name).read_text(encoding="utf-8")


def found(pattern, name):
    return re.findall(pattern, read(name), re.MULTILINE)


class Packaging(unittest.TestCase):
    def test_one_version(self):
        versions = {
            "CMakeLists.txt": found(r"^project\(makegood VERSION ([\d.]+)", "CMakeLists.txt"),
            "deploy/Dockerfile": found(r"^ARG VERSION=(.+)$", "deploy/Dockerfile"),
            "deploy/package/changelog": found(r"^makegood \(([\d.]+)\)", "deploy/package/changelog")[:1],
            "deploy/CHANGELOG.md": found(r"^## \[([\d.]+)\]", "deploy/CHANGELOG.md")[:1],
            "docker-compose.yml": found(r"image: makegood(?:-setup)?:([\d.]+)$", "docker-compose.yml"),
            "package.json": [json.loads(read("proto/clients/node/package.json"))["version"]],
            "__init__.py": found(r'^__version__ = "(.+)"$', "proto/clients/python/makegood/__init__.py"),
        }
        self.assertEqual([], [name for name, numbers in versions.items() if not numbers])
        self.assertEqual(1, len({number for numbers in versions.values() for number in numbers}), versions)
        if TAG is not None:
            self.assertEqual(TAG, "v" + versions["CMakeLists.txt"][0])

    def test_the_workflows_are_yaml_with_jobs(self):
        self.assertGreaterEqual(len(WORKFLOWS), 2)
        for path in WORKFLOWS:
            jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
            for name, job in jobs.items():
                self.assertIn("runs-on", job, f"{path.name}: {name}")
                self.assertTrue(set(job.get("needs", []) if isinstance(job.get("needs"), list) else [job["needs"]] if "needs" in job else [])
                                <= set(jobs), f"{path.name}: {name}")
                for step in job["steps"]:
                    self.assertEqual(1, len({"run", "uses"} & set(step)), f"{path.name}: {step}")
                    self.assertRegex(step.get("uses", "any@v1"), r"^[\w./-]+@[\w./-]+$")

    def test_their_commands_are_there(self):
        """Scripts of ours that a step runs can be executed, and files that it names are there."""
        count = 0
        for path in WORKFLOWS:
            for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values():
                for step in job["steps"]:
                    words = shlex.split(step.get("run", ""))
                    for word in (word for word in words if word.startswith(OURS)):
                        count += 1
                        self.assertTrue((SOURCE / word).exists(), f"{path.name}: there is no {word}")
                    if words and words[0].startswith(OURS):
                        self.assertTrue(os.access(SOURCE / words[0], os.X_OK), f"{path.name}: {words[0]} cannot be executed")
        self.assertGreaterEqual(count, 5)

    def test_images_are_of_no_processor(self):
        text = read("deploy/Dockerfile")
        self.assertNotRegex(text, r"--platform|amd64|x86|:.*-arm")
        for option in ("-march", "-mtune", "-msse"):
            self.assertNotIn(option, read("CMakeLists.txt") + read("common/hardening.cmake"))

    def test_targets_of_the_images_are_there(self):
        targets = set(re.findall(r"^FROM .* AS (\w+)$", read("deploy/Dockerfile"), re.MULTILINE))
        matrix = yaml.safe_load(read(".github/workflows/release.yml"))["jobs"]["images"]["strategy"]["matrix"]["include"]
        self.assertLessEqual({row["target"] for row in matrix}, targets)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
