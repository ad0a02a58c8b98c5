"""What users install: built, checked, and tried in environments that have nothing else.

    python -m tools.distribution build             wheels and sdists into dist/, checked
    python -m tools.distribution try [PYTHON ...]  each extra alone, in a clean environment of each Python
    python -m tools.distribution lowest [PYTHON]   an environment in build/lowest for `make try-lowest`
    python -m tools.distribution check-tag v1.2.3  what does not have that version

`try` installs the wheels of dist/ and runs the test of each extra (smoke/) outside of this checkout. Without a PYTHON
it takes an interpreter of each version that pyproject.toml names, if the PATH, pyenv or uv has one. With `--lowest` it
installs the lowest versions of what the package depends on; these are constraints made from pyproject.toml.
"""
