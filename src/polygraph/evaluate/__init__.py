"""Evaluation of methods: retrieval metrics, judged answers, statistics, reports."""
