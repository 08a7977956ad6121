"""Batch calls: requests are written to files, replies are read from files."""
