"""Judging any broker by the recorded dialogues: `fakebroker conformance`.

`cases.py` reads the recordings, `needs.py` says what a broker must have for one, and `survey.py` asks a broker what it
has; `selection.py` compares the two. `one_play.py` plays one case, `plays.py` many side by side. `on_running.py` does
that on a broker that runs, and `cleaning.py` deletes what was made there; `on_fresh.py` does it on brokers that
`broker_command.py` starts. `score.py` counts, and the three `report_*.py` write the result.
"""
