"""ROGRAG: dual-level and logic-form retrieval with verification."""
