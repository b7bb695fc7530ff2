#!/usr/bin/python3
"""readme.py [--write] SOURCE BIN: compares the documents with the programs; --write first renews quoted files and state diagrams.

Every *.md of the repository is read. Quoted files equal their originals, and the state diagrams equal the program's output.
Every named command, option, verb, metric, alert and test exists. Every relative link and anchor resolves, in documents and
in comments. The programs accept the definitions shown. The front page, the runbook's index and the page of tests stay short. End-to-end tests of
their own run the examples.
"""

import functools
import pathlib
import re
import subprocess
import sys
import urllib.parse

SERVICES = ("makegood-scheduler", "makegood-agent", "makegood-supervisor")
FOLDERS = (".github", "common", "deploy", "proto", "services", "tests")
FOR_MODELS = "deploy/docs/llms.txt"
MUST_BE_QUOTED = {"README.md": ("tests/e2e/hello.json", "deploy/sample/services/payment.json"),
                  "proto/README.md": ("tests/e2e/python_client.py", "tests/e2e/python_agent.py"),
                  "proto/clients/README.md": ("proto/clients/python/example_client.py", "proto/clients/python/example_agent.py",
                                           "proto/clients/node/example_client.js", "proto/clients/node/example_agent.js",
                                           "proto/clients/c/example_client.c", "proto/clients/c/example_agent.c")}
MUST_SHOW_STATES = "common/core/README.md"
COMMANDS, ALERTS, INDEX = "deploy/docs/operate.md", "deploy/docs/alerts.md", "deploy/README.md"
OWN_OPTIONS = {"deploy/sample/README.md": "deploy/sample/remote", "tests/bench/README.md": "tests/bench",
               "tests/chaos/README.md": "tests/chaos", "tests/README.md": "tests/sim", "tests/sim/README.md": "tests/sim"}  # pages about programs of a folder, which have options of their own
REPEATS_HEADINGS = "deploy/CHANGELOG.md"  # as its format does
LINES_MAX = {"README.md": 200, INDEX: 100, "tests/README.md": 250}
QUOTED = re.compile(r"<!-- file: (\S+) -->\n```\w*\n(.*?)```\n", re.DOTALL)
COMPOSE_VALUED = ("-f", "-s", "--signal", "--entrypoint", "--env-file", "-t", "--timeout", "-e", "-v", "--tail", "--since",
                  "--index")
STATES = re.compile(r"<!-- states -->\n(.*?)<!-- /states -->", re.DOTALL)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
MENTION = re.compile(r"\b((?:common|deploy|proto|services|tests)/[\w./-]+\.md)\b(?:#([\w-]+))?")


class Readme:
    """One document: its text, its commands (shell blocks and code spans), its prose without blocks."""

    def __init__(self, source, path):
        self.source, self.path = source, path
        self.text = path.read_text(encoding="utf-8")
        self.name = str(path.relative_to(source))
        self.prose = FENCE.sub("", self.text)
        self.spans = [span.replace("\\|", "|") for span in SPAN.findall(self.prose)]
        shell = [line for language, block in FENCE.findall(self.text) if language == "sh" for line in block.splitlines()]
        self.commands = [line for line in shell + self.spans if line and not line.startswith("#")]

    def anchors(self):
        return [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in HEADING.findall(self.prose)]


class Programs:
    """The programs' own lists of commands, options and metrics."""

    def __init__(self, binaries):
        self.binaries = binaries
        self.known = {}

    def run(self, name, *words):
        return subprocess.run([str(self.binaries / name), *map(str, words)], capture_output=True, text=True, timeout=30,
                              check=False, cwd=self.binaries)

    @functools.cached_property
    def verbs(self):
        found = set()
        for line in self.run("makegood", "--help").stdout.splitlines():
            match = re.match(r"  ([a-z]+) ([a-z-]+(?!\S))?", line)
            if match:
                found.add(" ".join(filter(None, match.groups())))
        return found

    @functools.cached_property
    def states(self):
        return self.run("makegood", "workflow", "states", "--mermaid").stdout.strip()

    def options(self, *words):
        if words not in self.known:
            self.known[words] = set(re.findall(r"--[a-z][a-z-]*", self.run(*words, "--help").stdout)) | {"--help"}
        return self.known[words]


def verb_of(words, verbs):
    """The verb that the words after `makegood` begin with, or None."""
    for count in (2, 1):
        if len(words) >= count and " ".join(words[:count]) in verbs:
            return " ".join(words[:count])
    return None


def renew(readme, programs):
    """Replaces outdated files and diagrams on the page by the present ones."""
    def quote(found):
        head, path = found.group(0)[:found.start(2) - found.start()], readme.source / found.group(1)
        return head + path.read_text(encoding="utf-8") + "```\n" if path.is_file() else found.group(0)
    text = QUOTED.sub(quote, readme.text)
    text = STATES.sub(lambda _: f"<!-- states -->\n{programs.states}\n<!-- /states -->", text)
    if text != readme.text:
        readme.path.write_text(text, encoding="utf-8")


def check_quotes(readme):
    quoted = dict(QUOTED.findall(readme.text))
    for name, text in quoted.items():
        path = readme.source / name
        if not path.is_file():
            yield f"quotes {name}, which does not exist"
        elif path.read_text(encoding="utf-8") != text:
            yield f"{name} is not quoted as it is (renew: readme.py --write)"
    for name in MUST_BE_QUOTED.get(readme.name, ()):
        if name not in quoted:
            yield f"{name} is not quoted"


def check_states(readme, programs):
    found = STATES.findall(readme.text)
    if readme.name == MUST_SHOW_STATES and len(found) != 1:
        yield "there is no <!-- states --> … <!-- /states -->"
    for text in found:
        if text.strip() != programs.states:
            yield "the state diagrams are not what `makegood workflow states --mermaid` prints (renew: readme.py --write)"


def check_links(readme):
    for target in LINK.findall(readme.prose):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = urllib.parse.unquote(target).partition("#")
        file = (readme.path.parent / path).resolve() if path else readme.path
        if not file.exists():
            yield f"the link {target} leads nowhere"
        elif anchor and file.suffix == ".md" and anchor not in Readme(readme.source, file).anchors():
            yield f"the link {target} leads to no heading"
    anchors = readme.anchors()
    for anchor in sorted({anchor for anchor in anchors if anchors.count(anchor) > 1} if readme.name != REPEATS_HEADINGS else ()):
        yield f"two headings have the anchor #{anchor}"


def check_size(readme):
    lines = readme.text.count("\n")
    if lines > LINES_MAX.get(readme.name, lines):
        yield f"{lines} lines, {LINES_MAX[readme.name]} are the most"


def check_index(readme):
    """The index links to each of its pages, and so does the list for language models."""
    for path in sorted((readme.path.parent / "docs").glob("*.md")):
        if f"(docs/{path.name})" not in readme.prose:
            yield f"docs/{path.name} is not linked"
        if f"(./{path.name})" not in (readme.source / FOR_MODELS).read_text(encoding="utf-8"):
            yield f"docs/{path.name} is not linked in {FOR_MODELS}"


def check_mentions(source):
    """A document that a comment, a rule or a message names exists, and has the heading."""
    for path in [source / "docker-compose.yml"] + [path for folder in FOLDERS for path in sorted((source / folder).rglob("*"))]:
        if not path.is_file() or path.suffix == ".md" or "node_modules" in path.parts:
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # an input of a fuzzer
        for name, anchor in MENTION.findall(text):
            if not (source / name).is_file():
                yield f"{path.relative_to(source)} names {name}, which does not exist"
            elif anchor and anchor not in Readme(source, source / name).anchors():
                yield f"{path.relative_to(source)} names {name}#{anchor}, which is no heading"


def check_makegood(words, programs):
    """One command line of the tool or a service: the verb and its options exist."""
    name = words[0]
    if name == "makegood":
        if len(words) == 1 or words[1].startswith("-"):
            return
        verb = verb_of(words[1:], programs.verbs)
        if verb is None:
            yield f"there is no verb `{' '.join(words[:3])}`"
            return
        known = programs.options(name, *verb.split())
    else:
        known = programs.options(name)
    own = words[:words.index("--")] if "--" in words else words  # after it is another program's command line
    for option in (word.partition("=")[0] for word in own if word.startswith("--")):
        if option not in known:
            yield f"`{' '.join(words)}`: there is no option {option}"


def check_script(words, source, names):
    """One command line of ours in the repository: the file exists; so does the test that tests/run is given."""
    if not (source / words[0]).exists():
        yield f"there is no {words[0]}"
    if words[0] == "tests/run" and len(words) > 1 and re.fullmatch(r"[a-z][a-z0-9_.]+", words[1]):
        if not any(re.search(words[1], name) for name in names):
            yield f"`{' '.join(words)}`: no test has such a name"
    if words[0] == "deploy/demo":
        known = (source / "deploy/local/demo.py").read_text(encoding="utf-8")
        for option in (word for word in words if word.startswith("--") and word != "--help"):
            if f'"{option}"' not in known:
                yield f"`{' '.join(words)}`: there is no option {option}"


def check_compose(words, source):
    """One command line of docker compose: its files, services and profiles exist."""
    text = (source / "docker-compose.yml").read_text(encoding="utf-8")
    block = re.search(r"^services:\n(.*?)^\w", text, re.DOTALL | re.MULTILINE).group(1)
    services = set(re.findall(r"^  ([a-z-]+):$", block, re.MULTILINE))
    profiles = set(re.findall(r"profiles: \[(\w+)\]", block))
    verb, names, rest = None, [], iter(words)
    for word in rest:
        if word == "--scale":
            names.append(next(rest).partition("=")[0])
        elif word == "--profile" and (profile := next(rest)) not in profiles:
            yield f"`docker compose {' '.join(words)}`: there is no profile {profile}"
        elif word in COMPOSE_VALUED and not (word == "-f" and verb is not None):
            next(rest, None)
        elif not word.startswith("-"):
            if verb is not None:
                names.append(word)
            verb = verb or word
            if verb in ("run", "exec") and names:
                break  # further words belong to the container
    for name in names:
        if name not in services:
            yield f"`docker compose {' '.join(words)}`: there is no service {name}"


def test_names(source):
    """The arguments of tests/run: kinds of tests, and the names of tests from their files."""
    scenarios = subprocess.run([sys.executable, str(source / "tests/e2e/run.py"), "--list"], capture_output=True, text=True,
                               timeout=30, check=True).stdout.split()
    files = {name for path in (source / "tests").glob("*/**/test_*.c")
             for name in (path.stem[len("test_"):], f"{path.parent.name}_{path.stem[len('test_'):]}")}
    kinds = {"unit", "integration", "e2e", "lint", "portable"}
    return (kinds | set(scenarios) | files | {f"e2e.{name}" for name in scenarios}
            | {f"{kind}.{name}" for kind in kinds for name in files}
            | {"unit." + name for name in re.findall(r"add_unit_script\((\w+)", (source / "tests/unit/CMakeLists.txt").read_text("utf-8"))}
            | {name for path in (source / "tests").rglob("CMakeLists.txt")
               for name in re.findall(r"NAME ((?:bench|chaos|expr|lint|matrix|model|sim|unit)\.\w+)", path.read_text("utf-8"))}
            | {path.stem.replace("_", ".", 1) for path in (source / "tests/fuzz").glob("fuzz_*.c")}
            | {"lint." + name for name in re.findall(r"def check_(\w+)", (source / "tests/lint/lint.py").read_text("utf-8"))})


def check_bare_options(readme, programs):
    """An option that is named without its program is one of some program."""
    known = set().union(*(programs.options(name) for name in SERVICES),
                        *(programs.options("makegood", *verb.split()) for verb in programs.verbs))
    scripts = (readme.source / "deploy/local/demo.py").read_text(encoding="utf-8")
    if readme.name in OWN_OPTIONS:
        for path in (readme.source / OWN_OPTIONS[readme.name]).glob("*.[cp]*"):
            known |= set(re.findall(r'(?<=["\s])--[a-z][a-z-]*', path.read_text(encoding="utf-8")))
    for span in readme.spans:
        found = re.match(r"--[a-z][a-z-]*", span)
        if found and found.group() not in known and f'"{found.group()}"' not in scripts:
            yield f"no program has the option `{span}`"


def check_commands(readme, programs, names):
    for command in readme.commands:
        for part in re.split(r" [|&;]+ |; ", command):
            words = part.split()
            if words and words[0] in ("/usr/bin/python3", "nice", "cd"):
                words = words[1:]
            if not words:
                continue
            if words[0] in SERVICES + ("makegood",):
                yield from check_makegood(words, programs)
            elif words[:2] == ["docker", "compose"]:
                yield from check_compose(words[2:], readme.source)
            elif words[0].startswith(("deploy/", "tests/")) and "*" not in words[0]:
                yield from check_script(words, readme.source, names)
            for word in words[1:]:
                if word.startswith(("deploy/", "tests/", "proto/")) and not (readme.source / word).exists():
                    yield f"`{command}`: there is no {word}"


def check_words(readme, code, roles):
    """Metrics and roles that are named exist."""
    for span in readme.spans:
        if re.fullmatch(r"makegood_[a-z_]+", span) and f'"{span}"' not in code and span not in roles:
            yield f"there is no metric and no role {span}"


def check_runbook(readme, source):
    """The runbook has a row for every alert, and none for another."""
    words = (source / "common/core/words.def").read_text(encoding="utf-8")
    alerts = set(re.findall(r'^MG_ALERT\(\w+, "(\w+)"', words, re.MULTILINE))
    section = readme.text.split("\n## Alerts of Makegood\n", 1)[-1].split("\n## ", 1)[0]
    rows = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    for alert in sorted(alerts - rows):
        yield f"the table of alerts has no {alert}"
    for row in sorted(rows - alerts):
        yield f"the table of alerts has {row}, which is no alert"


def check_whole(readme, programs):
    """The page of commands names every verb and every exit code."""
    named = {verb_of(command.split()[1:], programs.verbs) for command in readme.commands if command.startswith("makegood ")}
    for verb in sorted(programs.verbs - named):
        yield f"the verb `makegood {verb}` is not named"
    codes = re.search(r"exit codes: (.*)", programs.run("makegood", "--help").stdout).group(1)
    for code in codes.split(", "):
        if code not in readme.text:
            yield f"the exit code `{code}` is not explained"


def check_definitions(source, programs):
    """Definitions that are shown or linked are taken by the programs that read them."""
    for name in ("tests/e2e/hello.json", "deploy/sample/workflows/fulfilment.json"):
        done = programs.run("makegood", "workflow", "check", source / name)
        if done.returncode != 0:
            yield f"makegood workflow check {name}: {done.stderr}"
    done = programs.run("makegood-agent", "--check-config", "--amqp-url", "amqp://guest:guest@127.0.0.1/", "--service",
                        source / "deploy/sample/services/payment.json")
    if done.returncode != 0:
        yield f"makegood-agent --check-config: {done.stderr}"


def main(words):
    writes = words[:1] == ["--write"]
    words = words[1:] if writes else words
    if len(words) != 2:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    source, programs = pathlib.Path(words[0]).resolve(), Programs(pathlib.Path(words[1]).resolve())
    paths = [source / "README.md"] + [path for folder in FOLDERS for path in sorted((source / folder).rglob("*.md"))
                                      if "node_modules" not in path.parts]
    code = "".join(path.read_text(encoding="utf-8") for folder in ("common", "services")
                   for path in sorted((source / folder).rglob("*.c")))
    roles = set(re.findall(r"makegood_\w+", (source / "deploy/postgres/roles.sql").read_text(encoding="utf-8")))
    names = test_names(source)
    findings = []
    if writes:
        for path in paths:
            renew(Readme(source, path), programs)
    for readme in (Readme(source, path) for path in paths):
        found = [*check_quotes(readme), *check_states(readme, programs), *check_links(readme),
                 *check_commands(readme, programs, names), *check_words(readme, code, roles), *check_bare_options(readme, programs),
                 *check_size(readme)]
        if readme.name == INDEX:
            found += check_index(readme)
        if readme.name == COMMANDS:
            found += check_whole(readme, programs)
        if readme.name == ALERTS:
            found += check_runbook(readme, source)
        findings += [f"{readme.name}: {text}" for text in found]
    findings += check_mentions(source)
    findings += check_definitions(source, programs)
    for finding in findings:
        print(finding)
    print(f"{len(paths)} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
