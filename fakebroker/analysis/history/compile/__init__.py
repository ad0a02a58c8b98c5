"""A window of a group's history as a scenario that plays it again, anonymised on request.

`window.py` cuts the window, `rounds.py` plays the rebalances in it, `story.py` puts everything in order, and
`scenario.py` writes the scenario and plays it. The text is made by `scenarios/recording/scenario_text.py`, as for
recordings.
"""
