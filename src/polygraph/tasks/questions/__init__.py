"""Tasks of understanding a question before anything is retrieved for it.

- `intent`: whether it is a question for the documents at all.
- `route`: a single look-up, or reasoning over several facts.
- `keywords`: keywords and entities to look up in the graph.
- `aspects`: its entities, and the aspects of each that an answer needs.
- `refine_query`: rewrite, decompose or disambiguate it (RQ-RAG).
- `plan`: its logic form, steps with operators over their results (ROGRAG).
- `agent`: the next step of an agent on the graph (Graph-CoT).
"""
