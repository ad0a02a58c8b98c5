"""Who owns which groups, and how they get into memory."""
