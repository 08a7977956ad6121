"""What we ask a chat model: one module for each task, each with its own prompt file.

| package | tasks |
|---|---|
| `indexing` | extract a graph from texts, describe its entities, write reports, decide which names are one |
| `questions` | understand a question: its intent, route, keywords and plan, and the next step of an agent |
| `evidence` | choose, rate, condense and check what was retrieved |
| `answers` | write the answer, of the question or of one of its steps |
| `evaluation` | generate questions and judge answers |
| `offline` | the same without a model, by choosing sentences |
| `parsing` | tolerant parsers of replies |

A task function builds the request from its prompt, sends it through `models.calls` and parses the reply with the
tolerant parsers in `parsing`. Instructions come first, so that endpoints can reuse the prefix; document text
comes last and is marked as data. The first line of the instructions names the task: ``Task: extract``.

A reply that a parser cannot use raises `UnusableReply`. `models.calls` then asks once more with the reason; if the
second reply is unusable too, it is kept for inspection and the error reaches the task. Each module says whether it
passes the error on or returns something else. Tasks without a chat model are answered in `offline`, or by rules in the
task's own module.
"""
