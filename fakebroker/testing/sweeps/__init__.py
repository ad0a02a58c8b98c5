"""Fault sweeps: a test is run once for every fault that is plausible at every request of its clients.

`plausible.py` is the table of faults, `cases.py` names a fault at a request, `recorder.py` finds the requests,
`selection.py` chooses cases, `inject.py` lets one happen, `report.py` says what came of it. `runner.py` is
`fakebroker.sweep(run)`; the marker of the pytest plugin is in `cli/pytest/sweep.py`. Loaded when first used.
"""
