"""What we ask of a language model: one typed function per task, each with its own prompt file.

A task function builds the request from its prompt (static instructions first, so that endpoints can reuse
the prefix; document text last and marked as data), sends it through `models.calls`, and reads the reply
with tolerant readers (`reply`). The first line of a task's instructions names it: ``Task: extract``.
"""
