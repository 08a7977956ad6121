"""Clusters of mentions, and the one place where they are merged.

A `cluster.Cluster` is an entity while resolution runs. All rules merge by `merger.Merger`, which refuses what
conflicts, weighs what two clusters have in common, and records every decision.
"""
