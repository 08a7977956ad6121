"""Rules about names as such, whatever the texts say about who bears them.

`name_parts` splits a name into titles, base name and suffix; everything else works on base names. `spelling` brings
spellings into one form, `romanize` scripts into Latin letters, `acronyms` names into initials. `full_names` and
`given_names` know the names of people, and `given_name_conflict` says which of them cannot be one person.
"""
