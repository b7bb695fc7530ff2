#!/usr/bin/python3
"""completion.py MAKEGOOD: the shells complete every noun, verb, option and value that --help names, and nothing else.

zsh completes only after a prompt: it runs in a pseudo-terminal and writes the matches that it accepts to a pipe.
"""

import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile
import threading

TOOL = pathlib.Path(sys.argv[1]).resolve()
STATES = ["pending", "processing", "processed", "compensating", "compensated", "cancelled", "error"]
VALUES = {"order list --state": STATES, "order list --output": ["table", "json", "jsonl"],
          "order list -o": ["table", "json", "jsonl"], "workflow states -o": ["table"],
          "order list --group-by": ["error"], "order settle X --outcome": ["done", "absent"],
          "dead list --queue": ["dead.letters", "orders.rejected"], "completion": ["bash", "zsh", "fish"], "init": ["node", "python"]}
findings = []


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=60, **more)
    if done.returncode != 0 or done.stderr:
        findings.append(f"{' '.join(map(str, words[:3]))}: {done.returncode} {done.stderr.strip()}")
    return done.stdout


def verbs():
    """[(noun, verb or "", options)] from --help."""
    found = []
    for line in run(TOOL, "--help").splitlines():
        match = re.match(r"  ([a-z]+)(?: ([a-z-]+))?(?=\s)", line)
        if match:
            noun, verb = match.group(1), match.group(2) or ""
            text = run(TOOL, noun, *([verb] if verb else []), "--help").split("options:\n", 1)[1].split("\nEvery option")[0]
            found.append((noun, verb, sorted(set(re.findall(r"(?:^|\s)(--[a-z][a-z-]*)", text, re.M)))))
    return found


def compare(shell, line, complete, wanted):
    have = sorted(set(complete(line)))
    if have != sorted(set(wanted)):
        findings.append(f"{shell}: {line!r} gives {have}, not {sorted(set(wanted))}")


def drive(shell, known, complete, folder):
    """complete(line) gives the candidates for the last word of the line."""
    nouns = sorted({noun for noun, _verb, _options in known})
    compare(shell, "makegood ", lambda line: [word for word in complete(line) if not word.startswith("-")], nouns)
    compare(shell, "makegood ord", complete, ["order"])
    for noun in nouns:
        of_noun = [verb for name, verb, _options in known if name == noun and verb]
        if of_noun:
            compare(shell, f"makegood {noun} ", lambda line: [word for word in complete(line) if not word.startswith("-")], of_noun)
    for noun, verb, options in known:
        compare(shell, f"makegood {noun} {verb} --".replace("  ", " "),
                lambda line: [word for word in complete(line) if word.startswith("--")], options)
    for words, wanted in VALUES.items():
        compare(shell, f"makegood {words} ", complete, wanted)
    for words in ("workflow check ", "order submit ", "order list --config "):
        compare(shell, f"makegood {words}{folder}/a", complete, [f"{folder}/a-file"])
    for letter, wanted in (("a", []), ("b", [f"{folder}/b-folder"])):
        compare(shell, f"makegood db migrate --migrations {folder}/{letter}",
                lambda line: [word.rstrip("/") for word in complete(line)], wanted)
    compare(shell, "makegood order list -oj", complete, ["-ojson", "-ojsonl"])
    compare(shell, f"{TOOL} ord", complete, ["order"])
    compare(shell, "~/makegood ord", complete, ["order"])
    compare(shell, "makegood order show ", complete, [])
    compare(shell, "makegood order resume X --reason ", complete, [])


def drive_attached(shell, complete, folder):
    """bash separates words at "=", the others do not."""
    compare(shell, "makegood order list --output=j", complete, ["--output=json", "--output=jsonl"])
    compare(shell, f"makegood order list --config={folder}/a", complete, [f"--config={folder}/a-file"])


def bash(script, known, folder):
    run("bash", "-n", script)
    run("shellcheck", script)

    def complete(line):
        text = f'. {script}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _makegood; printf "%s\\n" "${{COMPREPLY[@]}}"'
        return run("bash", "-c", text, "bash", *line.split(" ")).split()
    drive("bash", known, complete, folder)
    compare("bash", "makegood order list --output = j", complete, ["json", "jsonl"])
    compare("bash", "makegood order list --output =", complete, ["json", "jsonl", "table"])
    compare("bash", f"makegood order list --config = {folder}/a", complete, [f"{folder}/a-file"])


def fish(script, known, folder):
    run("fish", "--no-config", "-n", script)

    def complete(line):
        out = run("fish", "--no-config", "-c", f"source {script}; complete -C {line!r}")
        return [candidate.split("\t")[0] for candidate in out.splitlines()]
    drive("fish", known, complete, folder)
    drive_attached("fish", complete, folder)
    compare("fish", "makegood order plai", complete, ["explain"])  # fish matches more than beginnings


ZSH_SETUP = r"""
PS1= RPS1=
autoload -Uz compinit && compinit -u -D
source {script}
compadd() {{
    local -a hits
    [[ ${{@[1,(i)(-|--)]}} != *-(O|A|D)\ * ]] || {{ builtin compadd "$@"; return }}
    builtin compadd -A hits "$@"
    (($#hits == 0)) || print -rl -- $hits > {found}
    builtin compadd "$@"
}}
ended() {{ compstate[insert]= compstate[list]=; print END > {found} }}
complete-once() {{ comppostfuncs=(ended); _main_complete "$@" }}
zle -C complete-once complete-word complete-once
bindkey "^I" complete-once
print END > {found}
"""
CLEAR_LINE = "\x15"


def drain(terminal):
    """Discards what zsh shows; it would wait for a reader."""
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:  # zsh has ended
        pass


def zsh(script, known, folder):
    run("zsh", "-f", "-n", script)
    found, setup = folder / "found", folder / "setup"
    os.mkfifo(found)
    setup.write_text(ZSH_SETUP.format(script=script, found=found), encoding="utf-8")
    terminal, slave = pty.openpty()
    with subprocess.Popen(["zsh", "-f", "-i"], stdin=slave, stdout=slave, stderr=slave, start_new_session=True) as child, \
            open(os.open(found, os.O_RDWR), encoding="utf-8") as matches:
        os.close(slave)
        threading.Thread(target=drain, args=(terminal,), daemon=True).start()

        def typed(keys):
            os.write(terminal, keys.encode())
            return [line.rstrip("\n") for line in iter(matches.readline, "END\n")]

        def complete(line):
            shown = line[line.rindex(" ") + 1:line.rindex("/") + 1] if "/" in line.split(" ")[-1] else ""
            return [shown + match for match in typed(f"{CLEAR_LINE}{line}\t")]  # of a path zsh gives the last part
        try:
            typed(f"source {setup}\n")
            drive("zsh", known, complete, folder)
            drive_attached("zsh", complete, folder)
        finally:
            child.kill()


def offered(*words):
    """The candidates of __complete, without their descriptions."""
    return sorted(line.split("\t")[0] for line in run(TOOL, "__complete", *words).splitlines())


ODD = ("", " ", "'", 'a "b" c', "a:b:c", "-", "--", "-x", "--output=", "$(id)", "%s\\é")


def complete_itself(known):
    """Would catch: wrong or odd words that fail or give candidates; a server or a configuration that is read."""
    cases = [(("order", "list", *words), []) for words in (["--nosuch=j"], ["-xj"], ["--help", ""], ["--help=j"], ["--", ""])]
    for word in ODD:
        cases += [((word, ""), []), ((word, "", ""), []), (("order", word, ""), []), (("order", word, "show", ""), []),
                  (("order", "show", word, ""), []), (("order", "settle", word, "--outcome", ""), ["absent", "done"]),
                  (("order", "list", word, "--output=" + word), ["--output=json", "--output=jsonl", "--output=table"]),
                  (("workflow", "check", word, "a b"), [":files"]), (("completion", word, ":"), ["bash", "fish", "zsh"])]
        for words in ((word,), ("order", word), ("order", "list", word)):
            offered(*words)  # may give candidates, must not fail
    for words, wanted in cases:
        if (have := offered(*words)) != wanted:
            findings.append(f"__complete {words} gives {have}, not {wanted}")
    described = dict(line.split("\t") for words in ([], ["order"]) for line in run(TOOL, "__complete", *words, "").splitlines())
    everything = run(TOOL, "--help").splitlines()
    for name, line in (("doctor", "  doctor "), ("cancel", "  order cancel ")):
        if not any(shown.startswith(line) and shown.endswith(" " + described.get(name, "?")) for shown in everything):
            findings.append(f"__complete describes {name} by {described.get(name)}")
    if described.get("alert") != "list, causes, ack":
        findings.append(f"__complete describes alert by {described.get('alert')}")
    bare = [word for noun, verb, _options in known for word in offered(noun, verb, "-") + offered(noun, verb, "")]
    findings.extend(f"a shell would expand {word}" for word in bare if not re.fullmatch(r":(files|folders)|[-a-z.]+", word))
    env = {"MAKEGOOD_CONFIG": "/nonexistent", "MAKEGOOD_OUTPUT": "wrong", "MAKEGOOD_TIMEOUT": "wrong"}
    if run(TOOL, "__complete", "order", "list", "--output", "", env={**os.environ, **env}) != "table\njson\njsonl\n":
        findings.append("__complete reads the configuration")
    for words in (["--help"], ["--man"], ["completion", "--help"], ["__complete", ""]):
        if "__complete" in run(TOOL, *words):
            findings.append(f"{words} shows __complete")


def main():
    known = verbs()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.chdir(folder)  # no project of a developer gives names
        home = folder / "home"
        home.mkdir()
        (home / "makegood").symlink_to(TOOL)
        os.environ.update(HOME=str(home), PATH=f"{home}:{os.environ['PATH']}")
        (folder / "a-file").touch()
        (folder / "b-folder").mkdir()
        scripts = {shell: folder / shell for shell in ("bash", "zsh", "fish")}
        for shell, path in scripts.items():
            path.write_text(run(TOOL, "completion", shell), encoding="utf-8")
        bash(scripts["bash"], known, folder)
        zsh(scripts["zsh"], known, folder)
        fish(scripts["fish"], known, folder)
    complete_itself(known)
    wrong = subprocess.run([TOOL, "completion", "csh"], capture_output=True, text=True, timeout=60, check=False)
    if wrong.returncode != 2 or "expected bash, zsh or fish" not in wrong.stderr:
        findings.append(f"completion csh: {wrong}")
    for option in ("--timeout=1s", "--output=json"):  # it makes no call, and a script has one form
        refused = subprocess.run([TOOL, "completion", "bash", option], capture_output=True, text=True, timeout=60, check=False)
        if refused.returncode != 2 or refused.stdout or option.split("=")[0] not in refused.stderr:
            findings.append(f"completion bash {option}: {refused}")
    for finding in findings:
        print(finding)
    print(f"{len(known)} verbs, {len(findings)} findings")
    return 1 if findings or len(known) < 25 else 0


sys.exit(main())
