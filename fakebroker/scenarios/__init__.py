"""Stories in YAML: their language, playing them, comparing plays; recording traffic and making stories of it.

Imports `testing` and the rooms below it, but not `serve`. Begin with `script.py` (what a file becomes) and
`playing/player.py`; `testing/exchanges/kinds.py` is the format of recordings, `dialogue` plays recorded dialogues,
`comparison` compares answers.
"""
