"""The object model read from itself: what a broker and its handles can do, for the doors that offer it by name."""
