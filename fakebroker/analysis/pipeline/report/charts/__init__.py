"""Charts of the report, drawn as SVG: each function returns HTML whose colours are those of the page's theme.

Colours of series are Okabe and Ito's, which people with any kind of colour vision tell apart; `page.css` has them for
light and for dark ground, as the classes c0 to c6, and h0 to h8 for the levels of a heat map.
"""
