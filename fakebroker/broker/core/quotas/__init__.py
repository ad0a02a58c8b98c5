"""Client quotas: what is declared, and what a broker measures."""
