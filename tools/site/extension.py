"""What the site does with the text of a page before it is read. The pages stay plain Markdown, which GitHub shows too.

- The lists of links in the three index pages are the site's navigation.
- A link to a file outside docs/ leads to the repository if pyproject.toml declares one; else its text is shown as code.
- A picture `NAME-light.png` has `NAME-dark.png` in its place in the dark theme.
- A drawing in SVG becomes part of the page, so that it takes the colours of the theme.

The beginnings of all pages are written to `summaries.js`, for the results of a search (static/search.js).
"""

import json
import os
import re
import tomllib
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
INDEXES = ("index", "rules/README", "decisions/README")
SUMMARY = 180  # letters of the beginning of a page

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]*)?\)")
_PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]+)-light\.png\)")
_DRAWING = re.compile(r"^!\[[^\]]*\]\(([^)]+\.svg)\)$", re.M)


def setup(app: "Sphinx") -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", prepare)
    app.connect("build-finished", write_summaries)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def prepare(app: "Sphinx", name: str, source: list[str]) -> None:
    """Change the text of the page `name`, which is the only item of `source`."""
    source[0] = prepared(name, source[0], repository())


def write_summaries(app: "Sphinx", error: Exception | None) -> None:
    """Write the beginning of each page beside the scripts of the site."""
    pages = {page.relative_to(DOCS).with_suffix("").as_posix(): page.read_text() for page in DOCS.rglob("*.md")}
    summaries = {name: summary(text) for name, text in sorted(pages.items())}
    if error is None:
        script = f"window.summaries = {json.dumps(summaries, indent=0)};\n"
        (Path(app.outdir) / "_static" / "summaries.js").write_text(script)


def summary(text: str) -> str:
    """The first sentences of a page, without marks of Markdown; empty if it begins with a table or a list."""
    paragraphs = re.sub(r"<!--.*?-->", "", text, flags=re.S).strip().partition("\n")[2].strip().split("\n\n")
    first = " ".join(paragraphs[0].split())
    if first.startswith(("#", "|", "-", "`" * 3, "![")):
        return ""
    plain = re.sub(r"[`*]", "", _LINK.sub(r"\1", first))
    return plain if len(plain) <= SUMMARY else plain[:SUMMARY].rpartition(" ")[0] + " ..."


def prepared(name: str, text: str, repository_url: str | None) -> str:
    """The text of the page `name` as Sphinx gets it."""
    folder = PurePosixPath(name).parent
    navigation = toctrees(text) if name in INDEXES else ""
    text = _LINK.sub(lambda match: _link(match, folder, repository_url), text)
    text = _PICTURE.sub(lambda match: _picture(match, DOCS / folder), text)
    text = _DRAWING.sub(lambda match: _drawing(DOCS / folder / match[1]), text)
    return text + navigation


@cache
def repository() -> str | None:
    """The address of the repository in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    url = project.get("urls", {}).get("Repository")
    return str(url).rstrip("/") if url else None


def toctrees(text: str) -> str:
    """The links of an index page, in lists and tables, as hidden tables of contents: one for each section."""
    found = ""
    for section in re.split(r"^## ", text, flags=re.M):
        pages = re.findall(r"^(?:- |\|[^|\n]*\| )\[[^\]]+\]\(([^)#:]+\.md)\)", section, re.M)
        if pages:
            title = section.partition("\n")[0]
            caption = "" if title.startswith("#") else f":caption: {title}\n"
            found += "\n\n```{toctree}\n:hidden:\n" + caption + "\n" + "\n".join(pages) + "\n```\n"
    return found


def _link(match: re.Match[str], folder: PurePosixPath, repository_url: str | None) -> str:
    text, target, anchor = match.groups()
    path = os.path.normpath(PurePosixPath("docs") / folder / target)
    if "://" in target or path.startswith("docs/") or not (ROOT / path).exists():
        return match[0]
    if repository_url:
        return f"[{text}]({repository_url}/blob/main/{path}{anchor or ''})"
    return text if "`" in text else f"`{text}`"


def _picture(match: re.Match[str], folder: Path) -> str:
    about, name = match.groups()
    if not (folder / f"{name}-dark.png").exists():
        return match[0]
    return f"![{about}]({name}-light.png){{.only-light}} ![{about}]({name}-dark.png){{.only-dark}}"


def _drawing(path: Path) -> str:
    return f'```{{raw}} html\n<div class="drawing">\n{path.read_text().strip()}\n</div>\n```'
