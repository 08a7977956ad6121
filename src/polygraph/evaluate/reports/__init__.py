"""Findings, charts and pages made of the results of a study."""
