"""Files of what passed between clients and brokers: journals, recorded sessions, dialogues. One format of lines.

A line is a JSON object of some kind. `columns` says what kinds and columns are, `meanings` what each column means, and
`kinds` which lines sessions and dialogues have; those of a journal are in `journal/schema.py`. `reading` and `writing`
are the ways from and to files, and `messages` gives what lines carry. `redaction` and `payloads` leave out what must
not be in a file.
"""
