"""Tuning a small reader on passages of an index: rows for training (`data`)."""
