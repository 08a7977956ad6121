"""What the API shows, as plain values for JSON.

- `documents`: the list with sizes, windows of a text, passages and pages.
- `graph`: maps of communities and entities, neighbourhoods, one entity, reports.
- `evaluations`: retrieval evaluations.
- `studies`: studies, their reports, and their answers as points.
"""
