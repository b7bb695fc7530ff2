#!/usr/bin/python3
"""lint.py CHECK BUILD-FOLDER: checks of the sources that need no run.

Prints each finding as file:line: text and exits 1 if there is one. BUILD-FOLDER holds compile_commands.json.
"""

import concurrent.futures
import fnmatch
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("common", "services", "proto", "deploy", "tests")
CODE = ("common/", "services/", "proto/clients/c/")
LINES_MAX = 900  # at 600, files were cut that a reader opens together; the aim is still 500

# The allowed beginnings of a folder's quoted includes. The first folder that matches rules.
LAYERS = {
    "common/core": ("core/",),
    "common/base": ("base/",),
    "common/json": ("base/", "core/", "json/"),
    "common/expr": ("base/", "json/", "expr/"),
    "common/wire": ("base/", "core/", "json/", "wire/"),
    "common/workflow": ("base/", "core/", "json/", "expr/", "wire/", "workflow/"),
    "common/service": ("base/", "core/", "json/", "wire/", "service/"),
    "common/schedule": ("base/", "core/", "json/", "workflow/template.h", "schedule/"),
    "common/io/tls": ("base/", "io/tls/"),
    "common/io/pg": ("base/", "core/", "io/pg/", "io/tls/", "io/reach.h"),
    "common/io/amqp": ("base/", "core/", "io/amqp/", "io/tls/", "io/reach.h"),
    "common/io/http": ("base/", "io/http/", "io/tls/"),
    "common/io/store": ("base/", "core/", "io/store/", "io/pg/", "io/reach.h"),
    "common/io": ("base/", "core/", "io/"),
    "common/serving": ("base/", "core/", "wire/", "service/", "io/"),
    "common/client": ("base/", "core/", "io/amqp/", "client/"),
    "proto/clients/c": ("base/", "core/key.h", "wire/", "io/amqp/", "serving/agent.h", "client/"),
    "services/scheduler": ("base/", "core/", "json/", "wire/", "workflow/", "schedule/", "io/", "scheduler/"),
    "services/agent": ("base/", "core/", "json/", "wire/", "service/", "io/", "serving/", "agent/"),
    "services/supervisor": ("base/", "core/", "wire/", "schedule/", "io/", "supervisor/"),
    "services/operator": ("base/", "core/", "json/", "expr/", "wire/", "workflow/", "schedule/", "io/", "operator/"),
    "services/console": ("base/", "core/", "json/", "wire/", "service/", "schedule/", "io/", "operator/", "console/"),
    "services/gateway": ("base/", "core/", "json/", "wire/", "workflow/", "io/", "operator/", "gateway/"),
    "services/agents": ("base/", "core/", "service/", "io/http/", "agents/"),
    "services/dev": ("base/", "core/", "json/", "wire/", "workflow/", "service/", "io/", "dev/"),
    "services/rehearse": ("base/", "core/", "json/", "expr/", "wire/", "workflow/", "service/", "serving/tries.h", "serving/breaker.h", "scheduler/", "agent/",
                          "rehearse/"),
    "services/audit": ("base/", "core/", "json/", "wire/", "workflow/", "service/", "io/http/", "serving/tries.h", "agent/", "audit/"),
    "services/conformance": ("base/", "core/", "json/", "wire/", "io/amqp/", "audit/finding.h", "conformance/"),
    "services/cli": ("base/", "core/", "json/", "expr/", "wire/", "workflow/", "schedule/", "service/", "io/", "client/", "operator/", "console/console.h", "gateway/gateway.h", "agents/agents.h", "dev/dev.h", "rehearse/rehearsal.h",
                     "rehearse/simulation.h", "rehearse/exploration.h", "audit/audit.h", "audit/finding.h", "conformance/conformance.h", "conformance/client/client_conformance.h", "cli/"),
}
# Where a library's header may be included; never in a header that other parts include.
LIBRARIES = {
    r"(rabbitmq-c/)?amqp.*\.h": ("common/io/amqp/*", "tests/bench/link.c"),
    r"libpq-fe\.h": ("common/io/pg/*", "tests/integration/store_*", "tests/bench/limit_rows.c"),
    # Trees, which keep values and not bytes: a second reader for tests, and for a sample service.
    r"jansson\.h": ("deploy/sample/remote/*", "tests/fuzz/*", "tests/unit/test_rounds.c", "tests/unit/test_library_arguments.c"),
    r"curl/.*": ("common/io/http/*curl*", "common/wire/http_url.c"),
    r"uv\.h": ("common/base/loop*",),
    r"microhttpd\.h": ("common/io/http/*mhd*", "deploy/sample/remote/*", "tests/fuzz/http_peer.c"),
    r"gnutls/.*": ("common/io/http/mhd.h", "deploy/sample/remote/tls.c"),
    r"sqlite3\.h": ("deploy/sample/remote/*",),
    r"uuid/.*": ("common/base/id*",),
    r"openssl/.*": ("common/base/id*", "common/base/hmac.c", "common/io/tls/*", "common/io/amqp/amqp_tls.c", "common/io/pg/pg_tls.c", "common/io/http/request_curl.c", "tests/*"),
    r"systemd/.*": ("services/notify*",),
    r"(n?curses\w*/)?n?curses\.h": ("services/cli/top_curses.c",),
    r"check\.h": ("tests/*",),
}
CONTRACTS = ("common/io/amqp/broker.h", "common/io/amqp/topology.h", "common/io/store/store.h", "common/io/http/client.h",
             "common/io/http/server.h", "common/json/json.h", "common/service/service.h", "common/base/loop.h", "common/base/id.h")
BANNED = {
    "strcpy": "snprintf or mg_buf", "strcat": "mg_buf", "sprintf": "snprintf", "vsprintf": "vsnprintf", "gets": "fgets",
    "strtok": "a slice", "atoi": "strtoll with its checks", "atol": "strtoll with its checks", "system": "posix_spawn",
    "sleep": "waiting for an event", "usleep": "waiting for an event", "nanosleep": "waiting for an event",
    "alloca": "the arena", "rand": "mg_random_u64", "random": "mg_random_u64",
}


def sources(*patterns):
    """The repository's own files below FOLDERS with a matching name, as paths relative to its top."""
    found = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            relative = path.relative_to(ROOT)
            if path.is_file() and any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns):
                found.append(str(relative))
    return found


def run(words, folder=ROOT):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def each(names, work):
    """Runs work(name) for all names on all processors; returns the findings, in order."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return [text for text in pool.map(work, names) if text]


def without_comments(text):
    """The C text with comments and literals blanked out, lines kept."""
    token = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    return re.sub(token, lambda found: re.sub(r"[^\n]", " ", found.group()), text, flags=re.S)


def check_format(_build):
    def one(some):
        code, text = run(["clang-format", "--dry-run", "-Werror", *some])
        return text if code else None
    names, parts = sources("*.c", "*.h"), os.cpu_count() or 1  # its start takes ten times as long as a file
    return each([names[part::parts] for part in range(parts)], one)


def allowed_by_library(name, header):
    for pattern, places in LIBRARIES.items():
        if re.fullmatch(pattern, header):
            return name not in CONTRACTS and any(fnmatch.fnmatch(name, place) for place in places)
    return True


def check_layers(_build):
    findings = []
    for name in sources("*.c", "*.h"):
        allowed = next((begin for folder, begin in LAYERS.items() if name.startswith(folder + "/")), None)
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1):
            quoted = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if quoted and allowed and "/" in quoted.group(1) and not quoted.group(1).startswith(allowed):
                findings.append(f"{name}:{number}: {quoted.group(1)} belongs to a layer that this one must not use")
            angled = re.match(r"\s*#\s*include\s+<([^>]+)>", line)
            if angled and not allowed_by_library(name, angled.group(1)):
                findings.append(f"{name}:{number}: <{angled.group(1)}> must stay behind the one file that wraps it")
    return findings


def circle_of(graph):
    """The names of one circle in {name: names}, in order; empty if there is none."""
    done = set()

    def visit(name, path):
        if name in path:
            return path[path.index(name):] + [name]
        if name not in done:
            for other in sorted(graph[name]):
                circle = visit(other, path + [name])
                if circle:
                    return circle
            done.add(name)
        return []
    return next(filter(None, (visit(name, []) for name in sorted(graph))), [])


def calls_of(names, objects):
    """For each of the C files: the others of them with a function or constant that it names, by their objects."""
    home, wanted = {}, {name: set() for name in names}
    by_object = {objects[name]: name for name in names}
    for place, symbol, kind, *_ in symbols_of(by_object):
        if kind == "U":
            wanted[by_object[place]].add(symbol)
        elif kind in "TDBR":
            home[symbol] = by_object[place]
    return {name: {home[symbol] for symbol in wanted[name] if home.get(symbol, name) != name} for name in names}


def includes_of(name, folder):
    """A file's quoted includes, as if all of them were in the folder: "core/order.h" and "order.h" are one."""
    own = pathlib.Path(folder).name + "/"
    found = re.findall(r'^\s*#\s*include\s+"([^"]+)"', (ROOT / name).read_text(encoding="utf-8"), re.M)
    return {f"{folder}/{header.removeprefix(own)}" for header in found}


def check_circles(build):
    """The files of each folder stand in a line: none calls back into one that calls it."""
    findings, folders, objects = [], {}, objects_of(build)
    for name in sources("*.c", "*.h"):
        if name.startswith(CODE):
            folders.setdefault(os.path.dirname(name), set()).add(name)
    for folder, names in sorted(folders.items()):
        built = [name for name in sorted(names) if name.endswith(".c") and name in objects]
        findings += [f"{name}:1: has no object in {build}" for name in sorted(names)
                     if name.endswith(".c") and name not in objects and not name.startswith("proto/")]
        includes = {name: includes_of(name, folder) & names for name in names}
        for kind, graph in (("includes", includes), ("calls", calls_of(built, objects))):
            circle = circle_of(graph)
            if circle:
                findings.append(f"{circle[0]}:1: a circle of {kind}: " + ", ".join(circle))
    return findings


def check_files(_build):
    """A base name stands once, so that a bare `judge.c` in a stack, a log or a talk is one file. A header and its source are in one folder."""
    folders = {}
    for name in sources("*.c", "*.h"):
        if name.startswith(CODE):
            folders.setdefault(pathlib.Path(name).stem, {}).setdefault(os.path.dirname(name), name)
    return [f"{name}:1: another {stem} is in {', '.join(sorted(set(places) - {place}))}; name it by the words of its field"
            for stem, places in sorted(folders.items()) if len(places) > 1 for place, name in sorted(places.items())]


def check_banned(_build):
    findings = []
    pattern = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")
    for name in sources("*.c", "*.h"):
        text = without_comments((ROOT / name).read_text(encoding="utf-8"))
        for number, line in enumerate(text.splitlines(), 1):
            for found in pattern.finditer(line):
                findings.append(f"{name}:{number}: {found.group(1)} is banned; use {BANNED[found.group(1)]}")
    return findings


# Files whose output is no text for people, or constant; JSON is escaped by print_table.c itself. A failpoint is only in tests.
NOT_FOR_PEOPLE = {"common/base/failpoint.c", "common/base/config_man.c", "common/base/print.c", "services/cli/completion.c", "services/cli/completion_script.c",
                  "services/cli/print_table.c", "services/cli/redraw.c", "services/cli/workflow_show.c", "services/cli/workflow_test.c",
                  "services/cli/workflow_verbs.c"}


def check_people(_build):
    """Text for people goes through mg_print, which makes foreign texts harmless; only constant texts go past it."""
    findings = []
    pattern = re.compile(r"(?<![\w.>])(?:(v?f?printf)|puts|putchar|fputc|putc|fputs|fwrite)\s*\((\s*(?:\w+\(\w+\) \?\s*:)?\s*[,)])?")  # literals are blank
    for name in sources("*.c"):
        if not re.match(r"common/|services/", name) or name in NOT_FOR_PEOPLE:
            continue
        text = without_comments((ROOT / name).read_text(encoding="utf-8"))
        findings += [f"{name}:{text.count(chr(10), 0, found.start()) + 1}: text for people goes through mg_print (base/print.h)"
                     for found in pattern.finditer(text) if found.group(1) or not found.group(2)]
    return findings


FOREIGN = ("json_t",)  # types of libraries that a header only names


def check_dialect(_build):
    """sizeof(x) with parentheses. clang-format has no option for it; clang-tidy keeps the braces."""
    findings = []
    for name in sources("*.c", "*.h"):
        text = without_comments((ROOT / name).read_text(encoding="utf-8"))
        findings += [f"{name}:{number}: sizeof without parentheses"
                     for number, line in enumerate(text.splitlines(), 1) if re.search(r"\bsizeof\s+[^(\s]", line)]
    return findings


def declared(text):
    """Types, constants and macros that a header declares: (line, name)."""
    text = without_comments(text)
    found = [(match.start(1), match.group(1)) for match in re.finditer(r"^\s*#\s*define\s+(\w+)", text, re.M)]
    text = re.sub(r"^\s*#(?:[^\n\\]|\\.|\\\n)*", lambda found: re.sub(r"[^\n]", " ", found.group()), text, flags=re.M)
    found += [(match.start(1), match.group(1)) for match in re.finditer(r"\b(?:struct|enum|union)\s+(\w+)\s*[{;]", text)]
    for body in re.finditer(r"\benum\b[^{;()]*\{([^}]*)\}", text):
        found += [(body.start(1), match.group(1)) for match in re.finditer(r"(?:^|,)\s*([A-Z]\w*)\s*(?==|,|$)", body.group(1))]
    return [(text.count("\n", 0, place) + 1, name) for place, name in found]


def check_names(build):
    """One prefix for each name that more than one file can use: mg_ for functions and types, MG_ for constants and macros."""
    findings = []
    for name in sources("*.h"):
        if name.startswith(CODE):
            findings += [f"{name}:{line}: {word} needs the prefix mg_ or MG_"
                         for line, word in declared((ROOT / name).read_text(encoding="utf-8"))
                         if not word.startswith(("mg_", "MG_")) and word not in FOREIGN]
    names = [name for name in sources("*.c") if name.startswith(CODE)]
    objects = {name: place for name, place in objects_of(build).items() if name in names}
    if len(objects) < len(names) / 2:
        findings.append(f"common:0: of {len(names)} files only {len(objects)} have an object in {build}")
    for place, symbol, *_ in symbols_of(objects.values(), "--defined-only", "--extern-only"):
        if symbol != "main" and not symbol.startswith(("mg_", "MG_", "_")):
            name = next(name for name in names if objects.get(name) == place)
            findings.append(f"{name}:1: {symbol} is visible to other files and needs the prefix mg_ or MG_")
    return findings


def symbols_of(objects, *options):
    """Yields each symbol of the object files as words: the file, the name, the kind."""
    _, text = run(["nm", "--format=posix", "--print-file-name", *options, *objects])
    for line in text.splitlines():
        place, _, rest = line.partition(": ")
        yield [place, *rest.split()]


def objects_of(build):
    """The object files of our own sources, by source; that of a program or library of its own folder, if tests compile it, too."""
    found = {}
    for entry in json.loads((pathlib.Path(build) / "compile_commands.json").read_text(encoding="utf-8")):
        place = pathlib.Path(entry["directory"]) / re.search(r" -o (\S+)", entry["command"]).group(1)
        name = os.path.relpath(os.path.realpath(entry["file"]), ROOT)
        is_own = os.path.relpath(place, build).split("/", 1)[0] == name.split("/", 1)[0]
        if place.exists() and (is_own or name not in found):
            found[name] = str(place)
    return found


def check_sizes(_build):
    findings = []
    for name in sources("*.c", "*.h"):
        text = (ROOT / name).read_text(encoding="utf-8")
        lines = text.count("\n")
        if lines > LINES_MAX:
            findings.append(f"{name}:{lines}: longer than {LINES_MAX} lines; split it by meaning")
        if not text.startswith("/*"):
            findings.append(f"{name}:1: does not begin with a comment that says what it is for")
    return findings


def commands(build):
    """The compile commands of our own sources, as word lists by file."""
    found = {}
    for entry in json.loads((pathlib.Path(build) / "compile_commands.json").read_text(encoding="utf-8")):
        name = os.path.relpath(os.path.realpath(entry["file"]), ROOT)
        if name.split("/", 1)[0] in FOLDERS:
            found[entry["file"]] = shlex.split(entry["command"])
    return found


def check_warnings(build):
    """clang's warnings; the build itself has shown gcc's."""
    by_file = commands(build)

    def one(name):
        words = ["clang", "-fsyntax-only"]
        skip = False
        for word in by_file[name][1:]:
            if skip or word in ("-c", "-o"):
                skip = word == "-o"
                continue
            if not word.startswith(("-fsanitize", "-fno-sanitize", "-M", "-Wl,")):
                words.append(word)
        code, text = run(words)
        return text if code else None
    def one_header(name):
        code, text = run(["clang", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", "c++", name])
        return text if code else None
    return each(sorted(by_file), one) + each(["proto/clients/c/makegood.h"], one_header)


def check_tidy(build):
    def one(name):
        code, text = run(["clang-tidy", "--quiet", f"--config-file={ROOT / '.clang-tidy'}", "-p", build, name])
        return text if code else None
    return each(sorted(commands(build)), one)


def queue_header():
    """Where sys/queue.h is. cppcheck reads no system headers, and its lists are macros."""
    _, text = run(["cc", "-E", "-x", "c", "-include", "sys/queue.h", os.devnull])
    return re.search(r'"(/[^"]*/sys/queue\.h)"', text).group(1)


def check_cppcheck(build):
    cache = pathlib.Path(build) / "cppcheck"
    cache.mkdir(exist_ok=True)
    code, text = run(["cppcheck", "--quiet", "--error-exitcode=1", "--enable=warning,performance,portability",
                      "--inline-suppr", "--std=c11", f"--cppcheck-build-dir={cache}", "-j", str(os.cpu_count() or 1),
                      f"--suppressions-list={ROOT / 'tests/lint/cppcheck.suppressions'}", f"--include={queue_header()}", "-I", "common", "-I", "services",
                      "-D_GNU_SOURCE", '-DMG_VERSION="0"', "--template={file}:{line}: {severity}: {message} ({id})",
                      *[name for name in sources("*.c") if not name.startswith("tests/")]])
    return [text] if code else []


def scripts(interpreter):
    found = []
    for name in sources("*") + [".ci/run"]:
        path = ROOT / name
        if "." in path.name and path.suffix not in (".sh", ".py"):
            continue
        with open(path, "rb") as file:
            first = file.readline(200)
        if first.startswith(b"#!") and interpreter in first:
            found.append(name)
    return found


def check_shell(_build):
    names = scripts(b"sh\n")
    code, text = run(["shellcheck", "--external-sources", *names])
    return [text] if code else []


def check_mutations(_build):
    """Checks that each mutation still applies. One that does not can no longer prove that its guard is needed."""
    findings = []
    for path in sorted((ROOT / "tests/sim/mutations").glob("*.patch")):
        code, text = run(["patch", "--dry-run", "--strip=1", "--force", "--silent", "--input", str(path)])
        if code:
            findings.append(f"{path.relative_to(ROOT)}:1: does not apply: {text.strip().splitlines()[0]}")
    return findings


def check_python(_build):
    findings = []
    for name in sorted(set(sources("*.py") + scripts(b"python"))):
        text = (ROOT / name).read_text(encoding="utf-8")
        try:
            compile(text, name, "exec")
        except SyntaxError as error:
            findings.append(f"{name}:{error.lineno}: {error.msg}")
        for number, line in enumerate(text.splitlines(), 1):
            if re.search(r"\btime\.sleep\(", line) and "POLL_S" not in line:
                findings.append(f"{name}:{number}: sleeping where a condition could be awaited")
    return findings


def check_types(build):
    """Checks the Python library, and the programs that change its inner parts: a rename there breaks tests of the long part only."""
    programs = [ROOT / "tests/e2e" / name for name in ("wrong_agent.py", "wrong_client.py")]
    code, text = run(["mypy", "--strict", "--implicit-reexport", "--ignore-missing-imports", "--disable-error-code=func-returns-value",
                      "--no-error-summary", f"--cache-dir={build}/mypy", "makegood", *programs], ROOT / "proto/clients/python")
    return [text] if code else []


def main(words):
    checks = {name[len("check_"):]: function for name, function in globals().items() if name.startswith("check_")}
    if len(words) != 2 or words[0] not in checks:
        print(f"usage: lint.py {'|'.join(checks)} BUILD-FOLDER", file=sys.stderr)
        return 2
    findings = checks[words[0]](words[1])
    for finding in findings:
        print(finding.rstrip())
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
