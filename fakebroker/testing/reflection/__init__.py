"""The object model read from itself: what a broker and its handles can do, for the interfaces that offer it by name."""
