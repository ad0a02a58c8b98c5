"""What the site does with the text of a page before it is read. The pages stay plain Markdown, which GitHub shows too.

- The lists of links in the three index pages are the site's navigation.
- A link to a file outside docs/ leads to the repository if pyproject.toml declares one; else its text is shown as code.
- A picture `NAME-light.png` has `NAME-dark.png` in its place in the dark theme.
- A drawing in SVG becomes part of the page, so that it takes the colours of the theme.
"""

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

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]*)?\)")
_PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]+)-light\.png\)")
_DRAWING = re.compile(r"^!\[[^\]]*\]\(([^)]+\.svg)\)$", re.M)


def setup(app: "Sphinx") -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", prepare)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def prepare(app: "Sphinx", name: str, source: list[str]) -> None:
    """Change the text of the page `name`, which is the only item of `source`."""
    source[0] = prepared(name, source[0], repository())


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
    return f"```{{raw}} html\n{path.read_text().strip()}\n```"
