"""The configuration of Sphinx. Pages are Markdown, read by MyST; the theme is Furo.

The site needs no server and no network: style, scripts and the index of its search are files beside the pages.
"""

project = "fakebroker"
html_title = "fakebroker"
copyright = "the fakebroker authors"
extensions = ["myst_parser", "tools.site.extension"]

myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 4  # as GitHub gives them, so that links hold in both places

suppress_warnings = ["myst.header"]  # rules are headings of the third level, right below their chapter

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = [("search.js", {"priority": 100})]  # before the search itself, which reads it
html_show_search_summary = False  # it would need a server; search.js shows the beginning of each page
html_copy_source = False
html_show_sphinx = False
pygments_style = "github-light"
pygments_dark_style = "github-dark"
html_permalinks_icon = "#"
