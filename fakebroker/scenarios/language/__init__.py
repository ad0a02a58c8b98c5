"""The language of scenario files: its declaration, and the reader.

`declaration.py` declares keys and words; verbs and arguments come from signatures (`signatures.py`, `kinds.py`).
`yaml_file.py` makes nodes with lines of YAML, `reading.py` handles files, parameters and includes, and `read_steps.py`
and `read_expectations.py` make the steps. The result is a scenario as in `script.py`. The JSON Schema
(`json_schema.py`) and docs/reference/scenario-language.md follow from the declaration.
"""
