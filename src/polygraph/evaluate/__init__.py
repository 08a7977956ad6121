"""Measuring methods on questions: what was found, what was answered, and how sure one can be of a difference."""
