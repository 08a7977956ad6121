"""Question files, and questions generated from a corpus."""
