"""Tasks of a chat model, answered without one: by choosing sentences of the documents.

`answer` chooses the sentences of an answer or refuses it, `map_reports` the statements of community reports,
`sentence_pool` the sentences for one of several queries; `question_scope` recognizes questions about the whole
collection. `sentences` holds what they share.
"""
