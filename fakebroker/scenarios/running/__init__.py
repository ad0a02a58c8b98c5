"""Running scenarios: many files, transcripts and their approval, summaries; under a user's own client.

`run.py` plays one file and `side_by_side.py` many; `summary.py` and `junit.py` report on them. `background.py` plays
under a user's client, for `serving.py`, `cli/pytest/scenarios.py` and `cli/http/plays.py`. `transcript.py` has a method
for each class of `scenarios/happenings.py`; `message_text.py` writes a message on one line.
"""
