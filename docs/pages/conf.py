"""The documents as pages, by Sphinx: see config/docs.sh.

They are read where they are, the folder of the sources being the project's."""
import importlib.util
import os
import re

project = "petsc-bai"
copyright = "2026, the petsc-bai developers"
with open(os.path.join(os.path.dirname(__file__), "../../include/petscbai.h"), encoding="utf-8") as header:
    release = ".".join(re.findall(r"define PETSCBAI_VERSION_\w+ +(\d+)", header.read()))

extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["*.md", "packaging/*.md", "docs/*.md", "docs/notebook/*.md", "build/manualpages/*.md"]
html_theme = "furo"
html_title = f"petsc-bai {release}"
html_copy_source = False
# MathJax from a package, so that formulas need no network
mathjax = os.path.dirname(importlib.util.find_spec("sphinx-mathjax-offline").origin)
html_static_path = ["static", os.path.join(mathjax, "static")]
mathjax_path = "mathjax/tex-chtml.js"
html_css_files = ["pages.css"]
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath", "smartquotes"]
CONTENTS = {
    "Using it": (
        "docs/tutorial docs/manual docs/multigrid docs/smoothing docs/relaxation docs/applications docs/options"
        " build/manualpages/index"
    ),
    "Measured": "docs/performance docs/experiments",
    "Changing it": "docs/architecture CONTRIBUTING packaging/README CHANGELOG docs/notebook/README",
    "Notebook": " ".join(
        sorted(
            f"docs/notebook/{name[:-3]}"
            for name in os.listdir(os.path.join(os.path.dirname(__file__), "../notebook"))
            if name.endswith(".md") and name != "README.md"
        )
    ),
}


def add_contents(app, name, source):
    """README has no table of contents for Sphinx"""
    if name == root_doc:
        for caption, pages in CONTENTS.items():
            source[0] += "\n\n```{toctree}\n:hidden:\n:caption: %s\n\n%s\n```\n" % (caption, pages.replace(" ", "\n"))


def setup(app):
    app.connect("source-read", add_contents)
