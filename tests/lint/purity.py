#!/usr/bin/python3
"""purity.py LIBRARY: holds the decision core to "no I/O, no clock, no allocation, no globals".

Outside symbols of the library may only be those of ALLOWED, and additions of compilers; it may own no writable data.
"""

import re
import subprocess
import sys

ALLOWED = {"memcpy", "memset", "memcmp", "strlen", "strchr", "__assert_fail"}
ALLOWED |= {"bcmp", "memchr", "memmove"}  # compilers turn the first ones into these
COMPILERS = re.compile(r"_GLOBAL_OFFSET_TABLE_|__(asan|ubsan|sanitizer|gcov|stack_chk|odr_asan)\w*|llvm_(gcov|gcda)\w*")
SANITIZED = re.compile(r"(__asan|__gcov|llvm_gcov)\w*")


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def symbols(library, which):
    lines = output("nm", which, "--format=posix", library).splitlines()
    return {line.split()[0] for line in lines if line and not line.endswith(":")}


def main():
    library = sys.argv[1]
    needed = symbols(library, "--undefined-only")
    defined = symbols(library, "--defined-only")
    findings = [f"{name}: the decision core is pure and must not use it"
                for name in sorted(needed - defined - ALLOWED) if not COMPILERS.fullmatch(name)]
    if not defined:
        findings.append(f"{library}: no symbols; is it the library of the core?")
    if not any(SANITIZED.fullmatch(name) for name in needed):  # sanitizers keep data of their own in .data
        for found in re.finditer(r"^\.(?:data|bss|tdata|tbss)\s+([1-9]\d*)", output("size", "-A", library), re.MULTILINE):
            findings.append(f"{library}: {found.group(1)} bytes of writable data; the core has no globals")
    print("\n".join(findings) or "pure")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
