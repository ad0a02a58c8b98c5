"""The documentation site: `make site` builds docs/ with Sphinx into build/site."""
