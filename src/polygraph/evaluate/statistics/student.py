"""Student's t distribution; SciPy is loaded when it is first needed."""


def t_two_sided(t: float, degrees: int) -> float:
    """Return the chance that the absolute value exceeds `t`.

    >>> round(t_two_sided(2.262157, 9), 6)
    0.05
    """
    from scipy.special import stdtr

    return float(2 * stdtr(degrees, -abs(t)))


def t_quantile(alpha: float, degrees: int) -> float:
    """Return the value that the absolute value exceeds with the chance `alpha`, in (0, 1).

    >>> round(t_quantile(0.05, 9), 4)
    2.2622
    """
    from scipy.special import stdtrit

    return float(-stdtrit(degrees, alpha / 2))
