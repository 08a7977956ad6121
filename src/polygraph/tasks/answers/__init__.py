"""Tasks of answering.

- `answer`: answer from the evidence, confirm or lengthen an answer, rewrite a question so that it stands alone.
- `subanswer`: answer one step of a logic form, or deduce an answer from several steps (ROGRAG).
- `drift`: hypothetical, first and follow-up answers (DRIFT search).
- `raft`: answers with quotes, as a tuned reader gives them (RAFT).
- `table_answer`: answers computed from the rows of a table, without a model.
"""
