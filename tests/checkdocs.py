#!/usr/bin/env python3
"""Checks documents in Markdown: checkdocs.py FILE.md ... FOLDER ...

Fails if a relative link or its anchor leads nowhere."""
import os
import re
import sys


def text_of(filename):
    """Lines with their numbers, without blocks of code and comments"""
    fence = False
    with open(filename, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if re.match(r"\s*```", line):
                fence = not fence
            elif not fence and not line.startswith("    "):
                yield number, re.sub(r"<!--.*?-->", "", line.rstrip("\n"))
            else:
                yield number, ""


def anchors(filename):
    """Of the headings, as GitHub makes them"""
    seen = {}
    for _, line in text_of(filename):
        heading = re.match(r"#+ +(.*)", line)
        if heading:
            title = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "").strip().lower()
            slug = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
            seen[slug] = seen.get(slug, -1) + 1
            yield slug + (f"-{seen[slug]}" if seen[slug] else "")


def links(filename):
    folder = os.path.dirname(filename)
    for number, line in text_of(filename):
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            path = os.path.normpath(os.path.join(folder, path)) if path else filename
            if not os.path.exists(path):
                yield f"{filename}:{number}: no {target}"
            elif anchor and anchor not in anchors(path):
                yield f"{filename}:{number}: no heading for {target}"


def main(names):
    files = []
    for name in names:
        files += (
            [os.path.join(folder, file) for folder, _, found in os.walk(name) for file in found if file.endswith(".md")]
            if os.path.isdir(name)
            else [name]
        )
    faults = [fault for file in sorted(files) for fault in links(file)]
    print("\n".join(faults) or f"{len(files)} documents: all links lead somewhere")
    return bool(faults)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
