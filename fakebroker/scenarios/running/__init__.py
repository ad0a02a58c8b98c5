"""Running scenarios: many files, transcripts and their approval, summaries; under a user's own client."""
