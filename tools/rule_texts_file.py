"""The sentences of the rules as a file of the package, for those who look at a broker without its docs."""

import json
import re

from tools.rules_pages import ROOT, chapters

PATH = ROOT / "fakebroker" / "testing" / "explanations" / "rule_texts.json"
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


def rule_texts_file() -> str:
    """An object with the text of each rule, a line for each, by chapter and number."""
    texts = {rule.id: plain(rule.prose) for chapter in chapters() for rule in chapter.rules}
    return json.dumps(texts, ensure_ascii=False, indent=0) + "\n"


def plain(prose: str) -> str:
    """Sentences without links and without the breaks of their lines; paragraphs and points of a list stay apart."""
    paragraphs = re.split(r"\n\s*\n|\n(?=- )", _LINK.sub(r"\1", prose))
    return "\n".join(" ".join(paragraph.split()) for paragraph in paragraphs if paragraph.strip())
