"""The libraries that results are compared with, each imported only by the tests that use it."""

import pytest


def _library(name):
    return pytest.fixture(lambda: pytest.importorskip(name), scope="session")


cbook = _library("matplotlib.cbook")
multitest = _library("statsmodels.stats.multitest")
optimize = _library("scipy.optimize")
power = _library("statsmodels.stats.power")
proportion = _library("statsmodels.stats.proportion")
stats = _library("scipy.stats")
statsmodels = _library("statsmodels.api")
