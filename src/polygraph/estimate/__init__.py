"""What indexing and asking will cost, before anything is paid: arithmetic on the corpus itself.

Documents are loaded and cut for real, the requests of extraction are rendered and counted, and what
`calls.sqlite` answers already is free. What no arithmetic can know, how much a model will find and write, comes
from what this model wrote before, else from what others were measured to write, and makes the range. The size
of the graph is found by a rehearsal: see `rehearsal`.
"""

from polygraph.estimate.corpus import Corpus, gather
from polygraph.estimate.figures import Estimate, Line, Range, load_estimate, save_estimate
from polygraph.estimate.pilot import fly
from polygraph.estimate.plan import Plan, estimate
from polygraph.estimate.questions import MethodPlan

__all__ = [
    "Corpus",
    "Estimate",
    "Line",
    "MethodPlan",
    "Plan",
    "Range",
    "estimate",
    "fly",
    "gather",
    "load_estimate",
    "save_estimate",
]
