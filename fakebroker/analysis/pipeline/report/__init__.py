"""The report: published tables as one page of plots and numbers, and the same as Markdown.

`sections/` makes blocks of the tables, which know nothing of their looks (`blocks.py`); `page.py` and `markdown.py`
make text of them.
"""
