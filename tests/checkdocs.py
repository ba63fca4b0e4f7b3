#!/usr/bin/env python3
"""Checks documents in Markdown: checkdocs.py FILE.md ... FOLDER ...

Fails if a relative link or its anchor leads nowhere, if a cell of a table has more than 15 words, or if a sentence has
more than 25. In folders named notebook sentences may be longer. Words are what has a letter in it, outside code. Of a
file that begins with <!-- made from ... only the links are checked."""
import os
import re
import sys

CELL, SENTENCE = 15, 25


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


def words(text):
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", text)
    return [word for word in text.split() if re.search(r"[^\W\d_]", word)]


def paragraphs(filename):
    """Number of the first line, and text; a list's item is one, a table and a heading none"""
    start, lines = 0, []
    for number, line in list(text_of(filename)) + [(0, "")]:
        new = not line.strip() or line.startswith(("#", "|")) or re.match(r"\s*([*-]|\d+\.) ", line)
        if new and lines:
            yield start, " ".join(lines)
            lines = []
        if line.strip() and not line.startswith(("#", "|")):
            start = start if lines else number
            lines.append(line.strip())


def lengths(filename):
    with open(filename, encoding="utf-8") as file:
        if file.readline().startswith("<!-- made from"):
            return
    for number, line in text_of(filename):
        for cell in re.split(r"(?<!\\)\|", line)[1:-1] if line.startswith("|") else []:
            if len(words(cell)) > CELL:
                yield f"{filename}:{number}: {len(words(cell))} words in a cell, {CELL} at most: {cell.strip()[:60]}"
    if "notebook" in filename.split(os.sep):
        return
    for number, text in paragraphs(filename):
        for sentence in re.split(r"(?<=[.!?:])[)*\"]*\s+", re.sub(r"\b(e\.g|i\.e|et al|vs|cf)\.", r"\1", text)):
            if len(words(sentence)) > SENTENCE:
                yield (
                    f"{filename}:{number}: {len(words(sentence))} words in a sentence, {SENTENCE} at most:"
                    f" {sentence[:60]}"
                )


def main(names):
    files = []
    for name in names:
        files += (
            [os.path.join(folder, file) for folder, _, found in os.walk(name) for file in found if file.endswith(".md")]
            if os.path.isdir(name)
            else [name]
        )
    faults = [fault for file in sorted(files) for check in (links, lengths) for fault in check(file)]
    print("\n".join(faults) or f"{len(files)} documents: links, cells and sentences as they should be")
    return bool(faults)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
