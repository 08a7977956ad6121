"""What texts say of a name: attributes, and statements that two names are one thing, two, or part of each other.

`attributes` has the record and its conflicts. An extractor without a model gives sentences (`sentence_attributes`), a
model descriptions (`description_attributes`, `other_names`) and relations (`statements`, by way of `predicates`).
"""
