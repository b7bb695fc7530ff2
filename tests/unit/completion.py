#!/usr/bin/python3
"""completion.py MAKEGOOD: the shells complete every noun, verb, option and value that --help names, and nothing else.

bash and fish are driven; the completion of zsh runs only behind a prompt, so zsh reads its script and the text is compared.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(sys.argv[1]).resolve()
STATES = ["pending", "processing", "processed", "compensating", "compensated", "cancelled", "error"]
VALUES = {"order list --state": STATES, "order list --output": ["table", "json"], "order list -o": ["table", "json"],
          "order list --group-by": ["error"], "order settle X --outcome": ["done", "absent"],
          "dead list --queue": ["dead.letters", "orders.rejected"], "completion": ["bash", "zsh", "fish"]}
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
            text = run(TOOL, noun, *([verb] if verb else []), "--help").split("options:\n")[1].split("\nEvery option")[0]
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
    compare(shell, "makegood order show ", complete, [])
    compare(shell, "makegood order resume X --reason ", complete, [])


def bash(script, known, folder):
    run("bash", "-n", script)
    run("shellcheck", script)

    def complete(line):
        words = line.split(" ")
        text = f'. {script}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _makegood; printf "%s\\n" "${{COMPREPLY[@]}}"'
        return run("bash", "-c", text, "bash", *words).split()
    drive("bash", known, complete, folder)
    split = '. {0}; COMP_WORDS=(makegood order list --output = j); COMP_CWORD=5; _makegood; echo "${{COMPREPLY[@]}}"'
    if run("bash", "-c", split.format(script)).split() != ["json"]:
        findings.append("bash: --output=j is not completed")


def fish(script, known, folder):
    run("fish", "--no-config", "-n", script)

    def complete(line):
        out = run("fish", "--no-config", "-c", f"source {script}; complete -C {line!r}")
        return [candidate.split("\t")[0] for candidate in out.splitlines()]
    drive("fish", known, complete, folder)


def zsh(script, known):
    run("zsh", "-f", "-n", script)
    text = script.read_text(encoding="utf-8")
    for noun, verb, options in known:
        spec = re.search(rf"'{noun}{' ' + verb if verb else ''}'\) _arguments(.*?) ;;", text, re.S)
        have = sorted(set(re.findall(r"'\*(--[a-z-]+)=?\[", spec.group(1)))) if spec else []
        if have != options:
            findings.append(f"zsh: {noun} {verb} has {have}, not {options}")
    for what, value in re.findall(r"\]:((?:[^:\\]|\\.)*):([^']*)'", text):
        if value not in (" ", "_files", "_files -/") and not re.fullmatch(r"\([^)]*\)", value):
            findings.append(f"zsh: the value {what}:{value} would be run as a command")
    for words, wanted in VALUES.items():
        if f"({' '.join(wanted)})'" not in text:
            findings.append(f"zsh: no values for {words}")


def main():
    known = verbs()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "a-file").touch()
        (folder / "b-folder").mkdir()
        scripts = {shell: folder / shell for shell in ("bash", "zsh", "fish")}
        for shell, path in scripts.items():
            path.write_text(run(TOOL, "completion", shell), encoding="utf-8")
        bash(scripts["bash"], known, folder)
        zsh(scripts["zsh"], known)
        fish(scripts["fish"], known, folder)
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
