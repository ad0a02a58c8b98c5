"""Recorded dialogues with a real broker: read, played against this broker or another, compared.

`script.py` reads a dialogue, `player.py` plays it, and `run.py` makes the broker. Answers are compared by
`comparison/references.py`.
"""
