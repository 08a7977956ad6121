"""Personalised PageRank by power iteration over a whole network, to compare `walk` with."""

import numpy as np

_ROUNDS = 1_000
_TOLERANCE = 1e-12


def pagerank(network, vertices, weights, *, damping=0.85):
    """Return the score of every vertex, summing to 1: Haveliwala (2002), eq. 5.

    A vertex without edges sends its mass to the restart vertices.
    """
    n = network.n
    restart = np.zeros(n)
    restart[np.asarray(vertices)] = weights
    restart /= restart.sum()
    owners, others, weight = network.edges_at(np.arange(n))
    strengths = np.bincount(owners, weights=weight, minlength=n)
    share = weight / strengths[owners]
    scores = restart
    for _ in range(_ROUNDS):
        passed = np.bincount(others, weights=scores[owners] * share, minlength=n)
        stranded = scores[strengths == 0].sum()
        after = (1.0 - damping + damping * stranded) * restart + damping * passed
        moved = np.abs(after - scores).sum()
        scores = after
        if moved < _TOLERANCE:
            break
    return scores / scores.sum()
