"""Recorded dialogues with a real broker: read, played against this broker or another, compared.

`script.py` reads a dialogue, `player.py` plays it, `compare.py` compares the answers, and `run.py` makes the broker.
"""
