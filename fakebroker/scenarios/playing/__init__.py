"""Playing a scenario: its actors, its steps, its expectations, and the broker that it is played on.

`player.py` takes the steps in order, in one of the worlds of `worlds.py`. `actors.py` has what clients do;
`member_loop.py` and `consumer_member_loop.py` are members that act by themselves. `power_steps.py` acts on the broker,
`expectations.py` and `matching.py` check, and `timing.py` lets time pass.

Actors are scripted clients, whose steps are generators: they yield a request and go on with its answer, so that one
thread plays any number of them. A step that is `later` stays with its actor until `answered` asks for it.
"""
