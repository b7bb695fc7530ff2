#!/usr/bin/python3
"""elf.py BUILD-FOLDER: builds executables and C library as for a release, and checks that they are hardened.

A flag can be lost on its way: another compiler, a build type, a library linked by hand. No other test would detect that.
common/hardening.cmake requests the flags; this program checks the result of compiler and linker.
"""

import json
import pathlib
import platform
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXECUTABLES = ("makegood", "makegood-scheduler", "makegood-agent", "makegood-supervisor", "makegood-sample-remote")
LIBRARY = "lib/libmakegood.so"
CET = ("IBT", "SHSTK")  # branch targets and return addresses checked by the processor (x86-64)


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))} ended with {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def build(folder):
    run("cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DMG_TESTS=OFF", "-DMG_SANITIZE=OFF", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
        f"-DCMAKE_INSTALL_PREFIX={folder}/root")
    run("cmake", "--build", folder)


def dynamic_symbols(path):
    """(name, address, type, is defined here) of each entry of the dynamic symbol table."""
    for line in run("readelf", "-W", "--dyn-syms", path).splitlines():
        words = line.split()
        if len(words) >= 8 and words[0].rstrip(":").isdigit():
            yield words[7].split("@")[0], int(words[1], 16), words[3], words[6] != "UND"


def has_cet(path):
    notes = run("readelf", "-W", "-n", path)
    return all(re.search(rf"x86 feature:.*\b{word}\b", notes) for word in CET)


def look(path):
    """The faults of one executable, or of the library."""
    header, segments = run("readelf", "-W", "-h", path), run("readelf", "-W", "-l", path)
    dynamic, relocations = run("readelf", "-W", "-d", path), run("readelf", "-W", "-r", path)
    symbols, is_library = list(dynamic_symbols(path)), path.suffix == ".so"
    names = {name for name, _, _, _ in symbols}
    flags = " ".join(re.findall(r"\((?:FLAGS|FLAGS_1)\)\s+(.*)", dynamic))
    copied = {int(address, 16) for address in re.findall(r"^(\w+).*_COPY\s", relocations, re.M)}
    stack = re.search(r"GNU_STACK.*", segments)
    wrong = {
        "is not position independent (PIE)": not re.search(r"Type:\s+DYN", header) or (not is_library and "PIE" not in flags),
        "has no GNU_RELRO segment": "GNU_RELRO" not in segments,
        "does not bind at start (BIND_NOW)": "NOW" not in flags.split(),
        "has an executable stack": stack is None or re.search(r"\sRWE?\s", stack.group()).group().strip() != "RW",
        "has a segment that is both writable and executable": re.search(r"LOAD.*\sRWE\s", segments),
        "has text relocations": re.search(r"\(TEXTREL\)|\bTEXTREL\b", dynamic),
        "looks for libraries in a path of its own (RPATH, RUNPATH)": re.search(r"\((RPATH|RUNPATH)\)", dynamic),
        "has no stack protector": "__stack_chk_fail" not in names,
        "has no fortified calls": not any(re.fullmatch(r"__\w+_chk", name) and "stack" not in name for name in names),
    }
    findings = [text for text, is_so in wrong.items() if is_so]
    for name, address, kind, is_defined in () if is_library else symbols:  # library.py compares the library's with its header
        if is_defined and (kind == "FUNC" or address not in copied):  # a library's variable, under each of its names, is copied here
            findings.append(f"exports {name}, which nobody outside uses")
    return findings


def check_cet(folder):
    """Every object of ours must have the note. The executable has it only if the C library's start files have it too, since the
    linker keeps the notes common to all inputs. Those of Debian 12 do not."""
    if platform.machine() != "x86_64":
        return []
    compiler = next(iter(json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))))["command"].split()[0]
    objects = [path for path in sorted(folder.rglob("*.c.o")) if "CompilerIdC" not in path.parts]
    if not objects:
        return [f"no object file was found in {folder}"]
    findings = [f"{path.relative_to(folder)} is not made for {' and '.join(CET)}" for path in objects if not has_cet(path)]
    start = [run(compiler, f"-print-file-name={name}").strip() for name in ("Scrt1.o", "crti.o", "crtbeginS.o")]
    if all(has_cet(path) for path in start):
        findings += [f"{name} is not made for {' and '.join(CET)}" for name in EXECUTABLES if not has_cet(folder / "bin" / name)]
    return findings


def main(words):
    if len(words) != 1:
        print("usage: elf.py BUILD-FOLDER", file=sys.stderr)
        return 2
    folder = pathlib.Path(words[0])
    build(folder)
    paths = [*(f"bin/{name}" for name in EXECUTABLES), LIBRARY]
    findings = [f"{path} {text}" for path in paths for text in look(folder / path)] + check_cet(folder)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
