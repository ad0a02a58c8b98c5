"""What is public: every name that tests, scripts and files may use, in docs/reference/public-names.txt.

    python -m tools.public_names                     add new names; names that are gone are an error
    python -m tools.public_names --accept-removals   write the names that there are, without those that are gone

The removal of a public name is a decision: it raises the major version (docs/reference/versions.md).
"""
