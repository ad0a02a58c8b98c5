"""An in-memory network and a virtual clock around the engine. Nothing waits, and every run is the same."""
