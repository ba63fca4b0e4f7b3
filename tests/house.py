#!/usr/bin/env python3
"""Checks the size of what is written by hand in src: house.py

Fails if more than three files have over 600 lines, if a function has over 80, or if a comment begins with "What "."""
import pathlib
import re
import sys

FILE, FILES, FUNCTION = 600, 3, 80


def functions(lines):
    """Name, number of the first line and length of each function: it begins and ends at the left"""
    first = name = None
    for number, line in enumerate(lines, 1):
        names = re.findall(r"\b(?!__)(\w+)\(", line) if re.match(r"[A-Za-z_]", line) else []
        if names and not line.rstrip().endswith((";", "\\")):
            first, name = number, names[0]
        elif re.match(r"[A-Za-z_#]", line):
            first = None
        elif line.startswith("}") and first:
            yield name, first, number - first + 1
            first = None


def main():
    faults, large = [], []
    for path in sorted(pathlib.Path("src").rglob("*")):
        if path.suffix not in (".c", ".h", ".cu", ".def") or "generated" in path.parts:
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        if len(lines) > FILE:
            large.append(f"{path}: {len(lines)} lines")
        faults += [
            f"{path}:{first}: {name} has {length} lines, {FUNCTION} at most"
            for name, first, length in functions(lines)
            if length > FUNCTION
        ]
        faults += [
            f'{path}:{number}: a comment begins with "What"'
            for number, line in enumerate(lines, 1)
            if re.search(r"(/\*+|//)\s*What ", line)
            or (re.match(r"\s*What ", line) and lines[number - 2].strip() in ("/*", "/*@", "/**"))
        ]
    if len(large) > FILES:
        faults += [f"{len(large)} files of src have over {FILE} lines, {FILES} may: {'; '.join(large)}"]
    if faults:
        print("\n".join(faults))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
