"""Differential play: random histories on two brokers at once, the first difference shrunk and written as a recording.

    python -m tools.differential REFERENCE SUBJECT --steps 20000 --seed 1

Each history is a list of small numbers that hypothesis makes up and shrinks. A chapter (`chapters.py`) reads them as
requests, valid and invalid, with what the reference answered before. Every request goes to both brokers
(`pair.py`), and the answers are compared by meaning.
"""
