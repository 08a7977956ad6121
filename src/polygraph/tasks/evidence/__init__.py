"""Tasks on what was retrieved for a question.

- `filter_facts`: which facts help to answer it (HippoRAG 2).
- `rate_reports`: how much a report helps to answer it.
- `map_reports`: the points of reports that help to answer it (global search).
- `summarise`: notes on one part of the question (FG-RAG).
- `verify`: whether evidence suffices, whether an answer holds, which rows fulfil a condition.
- `check_citations`: whether a piece of evidence supports the claim that cites it.
"""
