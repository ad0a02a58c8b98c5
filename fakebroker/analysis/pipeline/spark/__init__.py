"""What only Spark runs: the what-if as columns and windows, and frames that become those of tables."""
