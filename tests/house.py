#!/usr/bin/env python3
"""Checks the size of what is written by hand in src, and who calls whom: house.py [OBJECT.o ...]

Fails if a file has over 600 lines, if a function has over 80, or if a comment begins with "What ". With the objects of
the library, as "make test" calls it, it also fails if files call each other in a circle, and prints TAP.
"""
import pathlib
import re
import subprocess
import sys

FILE, FUNCTION = 600, 80


def sources():
    """Path and lines of each file that is written by hand"""
    for path in sorted(pathlib.Path("src").rglob("*")):
        if path.suffix in (".c", ".h", ".cu", ".def") and "generated" not in path.parts:
            yield path, path.read_text(encoding="utf-8").splitlines()


def large_files():
    return [f"{path} has {len(lines)} lines, {FILE} at most" for path, lines in sources() if len(lines) > FILE]


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


def long_functions():
    return [
        f"{path}:{first}: {name} has {length} lines, {FUNCTION} at most"
        for path, lines in sources()
        for name, first, length in functions(lines)
        if length > FUNCTION
    ]


def comments():
    return [
        f'{path}:{number}: a comment begins with "What"'
        for path, lines in sources()
        for number, line in enumerate(lines, 1)
        if re.search(r"(/\*+|//)\s*What ", line)
        or (re.match(r"\s*What ", line) and lines[number - 2].strip() in ("/*", "/*@", "/**"))
    ]


def calls(objects):
    """The other objects with functions that each object calls"""
    home, wants = {}, {}
    for name in objects:
        for line in subprocess.run(["nm", name], capture_output=True, text=True, check=True).stdout.splitlines():
            *_, kind, symbol = line.split()
            if kind == "T":
                home[symbol] = name
            elif kind == "U":
                wants.setdefault(name, []).append(symbol)
    return {name: {home[s] for s in wants.get(name, []) if home.get(s, name) != name} for name in objects}


def circles(objects):
    """The files left when those that call none of the others, or are called by none, have gone one after the other"""
    called = calls(objects)
    left = set(called)
    while True:
        inner = {name for name in left if called[name] & left and any(name in called[other] for other in left)}
        if inner == left:
            break
        left = inner
    short = lambda name: re.sub(r".*/obj/|\.o$", "", name)
    return [f"{short(name)} calls {', '.join(sorted(map(short, called[name] & left)))}" for name in sorted(left)]


def main(objects):
    checks = {"files": large_files, "functions": long_functions, "comments": comments}
    if objects:
        checks["circles"] = lambda: circles(objects)
    bad = False
    for name, check in checks.items():
        faults = check()
        bad = bad or bool(faults)
        if objects:
            print(f"not ok house-{name} # {'; '.join(faults)}" if faults else f"ok house-{name}")
        elif faults:
            print("\n".join(faults))
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
