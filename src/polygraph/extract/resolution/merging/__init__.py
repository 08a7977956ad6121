"""Rules by which names that differ are one entity, one file for each kind of difference.

A rule proposes pairs by their form; `candidates` chooses among them by what they have in common, and `Merger` refuses
those that conflict. `must_link` applies the merges of the user. `blocking` finds pairs that are spelled alike.
"""
