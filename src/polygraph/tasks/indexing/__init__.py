"""Tasks of building an index.

- `extract`: entities and relations of a text.
- `describe`: one description of an entity or relation from several.
- `report`: a report on a community.
- `same`: which pairs of names are one entity.
- `suggest_same`: which names in a list may be one entity, so that `same` asks about them.
"""
