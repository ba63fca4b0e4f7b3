#!/usr/bin/env python3
"""Writes the manual pages in the sources' comments as Markdown: manualpages.py FOLDER

Fails if a public function has no page, or if a page refers to a page of petsc-bai that is not there."""
import glob
import os
import re
import sys

SOURCES = ["include/*.h", "src/*/*.c", "src/*/*/*.c", "src/*/*/generated/*.c"]
HEADER = "include/petscbai.h"
FACES = ("KSPBAI", "PCBAIMG", "PCBAI")  # PCBAI is the beginning of PCBAIMG
# A key of an option and its value, if there is one
OPTION = (
    r"(?<![\w`-])-(?:(?:ksp|pc|mg|snes|telescope)_\w+|info\b|dll_append)(?: (?:\d+|bai|preonly|telescope|async)\b)?"
)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Page:
    """A comment between /*@, /*MC or /*E and its end, and what is declared after it"""

    def __init__(self, path, kind, comment, after):
        self.path = path
        self.name, self.summary = (part.strip() for part in re.match(r"\s*(\w+) - (.*?)\n\n", comment, re.S).groups())
        self.summary = " ".join(self.summary.split())
        self.body = comment[re.match(r"\s*\w+ - .*?\n\n", comment, re.S).end() :]
        declared = re.match(r"\s*(typedef enum \{.*?\} \w+;)" if kind == "E" else r"\s*([^{]*?)\s*\{", after, re.S)
        self.synopsis = "" if kind == "MC" else re.sub(r"\)$", ");", declared[1])
        self.group = {"MC": "Types", "E": "Enumerations"}.get(kind) or next(
            (f"Functions of {face}" for face in FACES if self.name.startswith(face)), "Package"
        )


def pages():
    for path in sorted(path for pattern in SOURCES for path in glob.glob(pattern)):
        text = read(path)
        for found in re.finditer(r"/\*(@|MC|E)C?\n(.*?)(@|M|E)\*/", text, re.S):
            yield Page(path, found[1], found[2], text[found.end() :])


def markdown(text, known, missing):
    """A paragraph: code and formulas stay, and elsewhere characters that mean something to Markdown are escaped"""

    def code(match):
        name = match[1].removesuffix("()")
        if "BAI" in name and re.match(r"(KSP|PC|BAI)", name) and not name.startswith("BAI_") and name not in known:
            missing.append(name)
        return f"[`{match[1]}`]({name}.md)" if name in known else f"`{match[1]}`"

    text = re.sub(OPTION, r"`\g<0>`", " ".join(text.split()))
    parts = re.split(r"(`[^`]*`|\$[^$]*\$)", text)
    return "".join(
        re.sub(r"`([^`]*)`", code, part)
        if part.startswith("`")
        else part
        if part.startswith("$")
        else re.sub(r"([*_<>|\[\]{}^])", r"\\\1", part)
        for part in parts
    )


def write(page, known, missing):
    yield f"# {page.name}\n"
    yield markdown(page.summary, known, missing) + "\n"
    if page.synopsis:
        yield f"```c\n#include <petscbai.h>\n\n{page.synopsis}\n```\n"
    for block in re.split(r"\n\n+", page.body.strip("\n")):
        heading = re.match(r" {3}([A-Z][A-Za-z ]+):\n", block)
        if heading:
            yield f"## {heading[1]}\n"
            block = block[heading.end() :]
        if block.startswith(".vb"):
            yield "```text\n" + "\n".join(line.strip() for line in block.splitlines()[1:-1]) + "\n```\n"
        elif block.startswith(".seealso:"):
            yield "## See Also\n"
            yield markdown(block.removeprefix(".seealso:"), known, missing) + "\n"
        elif block.startswith(("+ ", ". ", "- ")):
            for item in re.split(r"\n(?=[.-] )", block):
                key, text = re.match(r"[+.-] +(.*?) +- +(.*)", item, re.S).groups()
                yield f"* `{key.strip('`')}`: {markdown(text, known, missing)}"
            yield ""
        elif block.strip():
            yield markdown(block, known, missing) + "\n"
    yield f"Defined in `{page.path}`"


def main(folder):
    found = list(pages())
    known = {page.name for page in found}
    missing = []
    for name in re.findall(r"^PETSC_EXTERN PetscErrorCode (\w+)\(", read(HEADER), re.M):
        if name not in known:
            missing.append(name)
    os.makedirs(folder, exist_ok=True)
    for old in glob.glob(os.path.join(folder, "*.md")):
        os.remove(old)
    for page in found:
        with open(os.path.join(folder, page.name + ".md"), "w", encoding="utf-8") as file:
            file.write("\n".join(write(page, known, missing)) + "\n")
    with open(os.path.join(folder, "index.md"), "w", encoding="utf-8") as file:
        file.write("# Manual pages\n\nMade from the comments in the sources.\n")
        for group in ("Types", "Enumerations", *(f"Functions of {face}" for face in FACES), "Package"):
            members = [page for page in found if page.group == group]
            file.write(
                f"\n## {group}\n\n"
                + "".join(
                    f"* [`{page.name}`]({page.name}.md): {markdown(page.summary, known, missing)}\n" for page in members
                )
            )
            file.write("\n```{toctree}\n:hidden:\n\n" + "".join(page.name + "\n" for page in members) + "```\n")
    for name in sorted(set(missing)):
        print(f"manualpages.py: no page of {name}")
    return bool(missing)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
