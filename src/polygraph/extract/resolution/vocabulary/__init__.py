"""Words of many languages that bear on identity: kinds of things, countries and their parts, international bodies.

`kinds` says which types and nouns exclude each other, `regions` which places lie in one another, `international` what
languages call well-known bodies, `general_nouns` which words stand for what a document has named (``the company``).
"""
