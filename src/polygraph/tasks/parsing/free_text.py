"""Replies of free text."""

from polygraph.errors import UnusableReply


def free_text(reply: str) -> str:
    """Return a reply without white space at its ends.

    Raises:
        UnusableReply: if nothing is left.

    >>> free_text(" The lamp was dark [1]. ")
    'The lamp was dark [1].'
    """
    if not (text := reply.strip()):
        raise UnusableReply("the reply was empty", reply)
    return text
