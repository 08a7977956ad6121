"""Tasks of an evaluation.

- `generate_questions`: questions from parts of the graph, or from users and their tasks.
- `judge`: scores of answers, the winner of a pair, the differences of a pair.
"""
