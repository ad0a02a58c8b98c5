"""Who clients are, and what they log in with: users, passwords, credentials, mechanisms of SASL."""
