"""What an answer or a ranking scores against a gold standard."""
