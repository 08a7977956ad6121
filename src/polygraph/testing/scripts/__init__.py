"""Scripted replies to every task, from the text of the request alone: one module for each group of tasks."""
