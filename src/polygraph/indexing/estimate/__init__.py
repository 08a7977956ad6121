"""What indexing and asking will cost, before anything is paid: arithmetic on the corpus itself.

Documents are loaded and cut for real, the requests of extraction are rendered and counted, and what
`calls.sqlite` answers already is free. What no arithmetic can know, how much a model will find and write, comes
from what this model wrote before, else from what others were measured to write, and makes the range. The size
of the graph is found by a rehearsal: see `rehearsal`.
"""

from polygraph.indexing.estimate.corpus import Corpus, gather
from polygraph.indexing.estimate.estimate import estimate
from polygraph.indexing.estimate.extraction import instructions
from polygraph.indexing.estimate.pilot import fly
from polygraph.indexing.estimate.plan import Plan
from polygraph.indexing.estimate.questions import MethodPlan
from polygraph.indexing.estimate.ranges import Estimate, Line, Range, load_estimate, save_estimate
from polygraph.indexing.estimate.transfer import Elsewhere, study

__all__ = [
    "Corpus",
    "Elsewhere",
    "Estimate",
    "Line",
    "MethodPlan",
    "Plan",
    "Range",
    "estimate",
    "fly",
    "gather",
    "instructions",
    "load_estimate",
    "save_estimate",
    "study",
]
