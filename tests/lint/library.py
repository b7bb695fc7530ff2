#!/usr/bin/python3
"""library.py LIBRARY HEADER MANUAL: the library exports the functions of its header and nothing else, and the manual has each of them.

A name that is exported by mistake could be used, and could then never change. The library is also called libmakegood.so.0.
"""

import pathlib
import re
import subprocess
import sys

SONAME = "libmakegood.so.0"


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def main(words):
    if len(words) != 3:
        print("usage: library.py LIBRARY HEADER MANUAL", file=sys.stderr)
        return 2
    library, header, manual = words
    text = re.sub(r"/\*.*?\*/", "", pathlib.Path(header).read_text(encoding="utf-8"), flags=re.S)
    declared = set(re.findall(r"^MG_API\b[^;(]*?\b(mg_\w+)\(", text, re.M))
    called = set(re.findall(r"^(?!typedef)[^#\n]*?\b(mg_\w+)\(", text, re.M))
    exported = {line.split()[0] for line in output("nm", "-D", "--defined-only", "--format=posix", library).splitlines()}
    documented = set(re.findall(r"\b(mg_\w+)\(", pathlib.Path(manual).read_text(encoding="utf-8")))
    findings = [f"{header}: declares no function"] if not declared else []
    findings += [f"{header}: {name} has no MG_API" for name in sorted(called - declared)]
    findings += [f"{library}: does not export {name}" for name in sorted(declared - exported)]
    findings += [f"{library}: exports {name}, which {header} does not have" for name in sorted(exported - declared)]
    findings += [f"{manual}: has no {name}" for name in sorted(declared - documented)]
    if f"[{SONAME}]" not in output("readelf", "-d", library):
        findings.append(f"{library}: its SONAME is not {SONAME}")
    print("\n".join(findings) or f"{len(declared)} functions")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
