"""What the arguments of a power may be, and the one reader of them: for Python, HTTP, the shell, scenarios and faults.

A power is declared by the signature of its method. `kinds.py` has the kinds of values and their error sentences,
`types.py` the types that several signatures use, `signatures.py` makes kinds of annotations and reads the arguments of
a call, `forms.py` says how a way in writes values. `checks.py` has checks of single values for code without a signature
of its own.
"""
