"""Entity resolution: which mentions are one entity.

`resolve.resolve` takes and returns the records of `records`, and is a pure function of the set of mentions. Its stages,
from certain to uncertain:

1. *Features* of the names of each document (`mentions`). A name has a base name, without titles, ``Jr.`` and legal form
   (`names`); a surname, given name, initials or acronym takes the base name of the only longer name of the document
   that fits. What the text says of it becomes attributes and statements (`evidence`).
2. *Disambiguation* (`disambiguation`). The mentions of one base name are one cluster, unless attributes conflict:
   gender, elder and younger, years of birth, officer and clergyman, person and ship, occupations in different contexts.
3. *Forms of one name* (`merging`), most of them on rows of a model: names that a text equates, other scripts, initials,
   names without their place or noun, surnames. The form proposes, what both have in common decides.
4. *Spelling variants* (`merging`). Names that differ in hyphens, accents or plural merge; names one edit apart merge if
   they share context names; with `embed`, similar names with similar vectors merge. Names that differ in a number, a
   given name or an opposite never do.
5. *Suggestions* (`suggestions`). Pairs that no rule compares are left undecided, for a model or a reader.

Decisions of the user (`constraints`) override all rules: `clusters.merger` refuses in every stage what is to stay
apart, and `merging.must_link` is applied last. `vocabulary` has the words of many languages that all stages share.
Packages know only those before them: vocabulary, names, evidence, mentions, clusters, then disambiguation, merging and
suggestions, which do not know each other.
"""
