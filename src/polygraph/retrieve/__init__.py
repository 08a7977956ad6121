"""Every retrieval method by name: `name` is the recommended variant, `name:preset` reproduces a paper or program.

A method's file is imported when the method is first looked up.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from polygraph.errors import BadInput, UnknownMethod

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from polygraph.retrieve.base import Method
    from polygraph.retrieve.catalogue import Description


class _LazyMethods(Mapping[str, "Method"]):
    """Methods by name, each made at its first use and kept.

    Args:
        factories: for each name a function that makes the method.
    """

    def __init__(self, factories: Mapping[str, Callable[[], "Method"]]) -> None:
        self._factories = factories
        self._made: dict[str, Method] = {}

    def __getitem__(self, name: str) -> "Method":
        if name not in self._made:
            self._made[name] = self._factories[name]()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._factories

    def __iter__(self) -> Iterator[str]:
        return iter(self._factories)

    def __len__(self) -> int:
        return len(self._factories)


def _make(module: str, class_name: str, parameters: Mapping[str, Any]) -> "Method":
    found = getattr(import_module(f"polygraph.retrieve.methods.{module}"), class_name)
    made: Method = found(**parameters)
    return made


def _lazy(path: str, **parameters: Any) -> Callable[[], "Method"]:
    """Return a function that makes the method at ``module.Class`` below `polygraph.retrieve.methods`."""
    module, _, class_name = path.rpartition(".")
    return partial(_make, module, class_name, parameters)


UNLIMITED = 1_000_000
"""A budget of tokens for papers that have none."""
_FGRAG_PAPER = {
    "skip_generic": False,
    "match_by": "descriptions",
    "share_notes": False,
    "interleave": False,
    "per_entity": 0,
    "share_visited": False,
    "entity_tokens": UNLIMITED,
    "max_tokens": UNLIMITED,
}
_LIGHTRAG_1_0 = {
    "fill_empty": False,
    "short_question": 0,
    "top_k": 60,
    "merge": "join",
    "entity_tokens": 4_000,
    "relation_tokens": 4_000,
    "tables_share": 0.67,
    "passage_tokens": 4_000,
}
_LLAMA_INDEX = {
    "seed_names": False,
    "match": "exact",
    "split": "always",
    "direction": "out",
    "similar_triples": 0,
    "order": "walk",
    "max_triples": 0,
    "counted": "ends",
    "max_tokens": UNLIMITED,
}
"""The knowledge-graph index that "RAG vs. GraphRAG" builds on, without vectors of triples."""

METHODS: Mapping[str, "Method"] = _LazyMethods(
    {
        "naive": _lazy("vector.Naive"),
        "naive:fg-rag": _lazy("vector.Naive", k=10, max_tokens=UNLIMITED),
        "naive:rag-vs-graphrag": _lazy("vector.Naive", k=10, max_tokens=UNLIMITED),
        "naive:graft": _lazy("vector.Naive", k=3, max_tokens=UNLIMITED),
        "naive:unbiased-evaluation": _lazy("vector.Naive", k=60, max_tokens=4_000),
        "bm25": _lazy("lexical.BM25"),
        "bm25:rograg": _lazy("lexical.BM25", k=5),
        "hybrid": _lazy("hybrid.Hybrid"),
        "hybrid:reranked": _lazy("hybrid.Hybrid", rerank=20),
        "rq-rag": _lazy("rqrag.RQRAG"),
        "rq-rag:paper": _lazy("rqrag.RQRAG", drop_repeated=False, query_temperature=1.0),
        "rq-rag:flashrag": _lazy(
            "rqrag.RQRAG", depth=3, max_calls=79, drop_repeated=False, answer_temperature=1.0
        ),
        "graph-cot": _lazy("graphcot.GraphCoT"),
        "graph-cot:paper": _lazy(
            "graphcot.GraphCoT", separate_thought=True, step_tokens=300, k=1, exact_names=False
        ),
        "graphrag-local": _lazy("graphrag_local.GraphRAGLocal"),
        "graphrag-local:microsoft": _lazy(
            "graphrag_local.GraphRAGLocal", seed_names=False, order="relations"
        ),
        "graphrag-global": _lazy("graphrag_global.GraphRAGGlobal"),
        "graphrag-global:microsoft": _lazy("graphrag_global.GraphRAGGlobal", rollup="none", max_reports=0),
        "graphrag-global:dynamic": _lazy("graphrag_global.GraphRAGGlobal", preselect="rating"),
        "graphrag-global:preselect": _lazy("graphrag_global.GraphRAGGlobal", preselect="embedding"),
        "graphrag-drift": _lazy("graphrag_drift.GraphRAGDrift"),
        "graphrag-drift:microsoft": _lazy(
            "graphrag_drift.GraphRAGDrift",
            hyde="random",
            order="shuffle",
            seed_names=False,
            source_order="relations",
        ),
        "fg-rag": _lazy("fgrag.FGRAG"),
        "fg-rag:paper": _lazy("fgrag.FGRAG", **_FGRAG_PAPER),
        "fg-rag:without-expansion": _lazy("fgrag.FGRAG", **_FGRAG_PAPER, without="expansion"),
        "fg-rag:without-summaries": _lazy("fgrag.FGRAG", **_FGRAG_PAPER, without="summaries"),
        "fg-rag:multi-hop": _lazy("fgrag.FGRAG", **_FGRAG_PAPER, answer_form="short"),
        "graft": _lazy("graft.Graft"),
        "graft:paper": _lazy("graft.Graft", k_reports=1, max_tokens=UNLIMITED),
        "kg-triplets": _lazy("kg.KnowledgeGraph"),
        "kg-triplets:rag-vs-graphrag": _lazy("kg.KnowledgeGraph", **_LLAMA_INDEX),
        "kg-text": _lazy("kg.KnowledgeGraph", text=True),
        "kg-text:rag-vs-graphrag": _lazy("kg.KnowledgeGraph", text=True, **_LLAMA_INDEX),
        "lightrag-local": _lazy("lightrag.LightRAG", mode="local"),
        "lightrag-global": _lazy("lightrag.LightRAG", mode="global"),
        "lightrag-hybrid": _lazy("lightrag.LightRAG", mode="hybrid"),
        "lightrag-mix": _lazy("lightrag.LightRAG", mode="mix"),
        "lightrag-mix:v1-5": _lazy(
            "lightrag.LightRAG", mode="mix", fill_empty=False, pick="similarity", rerank=20
        ),
        "lightrag-local:v1-0": _lazy("lightrag.LightRAG", mode="local", max_tokens=12_000, **_LIGHTRAG_1_0),
        "lightrag-global:v1-0": _lazy("lightrag.LightRAG", mode="global", max_tokens=12_000, **_LIGHTRAG_1_0),
        "lightrag-hybrid:unbiased-evaluation": _lazy(
            "lightrag.LightRAG", mode="hybrid", max_tokens=24_000, **_LIGHTRAG_1_0
        ),
        "rograg-dual": _lazy("rograg.dual.RogragDual"),
        "rograg-dual:paper": _lazy("rograg.dual.RogragDual", seed_names=False, order="graph"),
        "rograg-logic": _lazy("rograg.logic_form.RogragLogic"),
        "rograg-logic:paper": _lazy("rograg.logic_form.RogragLogic", min_facts=1, whole_facts=False),
        "rograg": _lazy("rograg.rograg.Rograg"),
        "rograg:paper": _lazy(
            "rograg.rograg.Rograg",
            refuse_below=0.1808,
            seed_names=False,
            min_facts=1,
            whole_facts=False,
            order="graph",
        ),
        "select": _lazy("combine.Select"),
        "select:rag-vs-graphrag": _lazy("combine.select_rag_vs_graphrag"),
        "integrate": _lazy("combine.Integrate"),
        "integrate:rag-vs-graphrag": _lazy("combine.integrate_rag_vs_graphrag"),
        "walk": _lazy("walk.NameWalk"),
        "fast-graphrag": _lazy("fastgraphrag.FastGraphRAG"),
        "fast-graphrag:circlemind": _lazy("fastgraphrag.FastGraphRAG", seed_names=False, multi_edges="keep"),
        "hipporag": _lazy("hipporag.HippoRAG"),
        "hipporag:2": _lazy(
            "hipporag.HippoRAG",
            combine="overwrite",
            entity_edges=2.0,
            k=5,
            scale="all",
            fact_texts="triples",
            seed_passages=0,
        ),
    }
)


ENTRY_POINTS = "polygraph.methods"
"""Group of the entry points by which packages offer methods."""
_REGISTERED: dict[str, "Method"] = {}
_NAME = re.compile(r"[\w.-]+(:[\w.-]+)?")
"""Other characters have a meaning in names of answers, such as the ``#`` of an A/A control."""


def register(name: str, method: "Method") -> None:
    """Give a method of your own a name in this process.

    From then on the name is used like that of any other method: in `Index.ask`, `compare`, `evaluate_retrieval`,
    `add`, and in studies. `METHODS` does not list it. A name that was registered before gets the new method.

    Args:
        name: letters, digits, ``_``, ``-`` and ``.``; a variant may follow after a colon.
        method: an instance, with its parameters.

    Raises:
        BadInput: if the name has other characters, or is that of one of `METHODS`; if the method lacks a part.
    """
    from polygraph.retrieve.base import why_no_method

    if not _NAME.fullmatch(name):
        raise BadInput(f"a method cannot be called {name!r}. Use letters, digits, _, - and . in its name")
    if name in METHODS:
        raise BadInput(f"there is a method {name!r} already. Register yours under another name")
    if problem := why_no_method(method):
        raise BadInput(f"what is registered as {name!r} is not a method: {problem}. See docs/add-a-method.md")
    _REGISTERED[name] = method


def method(name: str) -> "Method":
    """Return a method by name: of `METHODS`, registered, or of an installed package that offers it.

    A package offers methods by entry points of the group ``polygraph.methods``; each names a class or an instance.

    Raises:
        UnknownMethod: with the names that exist.
        BadInput: if a package offers it and it cannot be loaded.
    """
    if name in METHODS:
        return METHODS[name]
    if name not in _REGISTERED:
        if name not in offered():
            raise UnknownMethod(name, [*METHODS, *_REGISTERED, *offered()])
        register(name, _load(offered()[name]))
    return _REGISTERED[name]


def describe(name: str) -> "Description":
    """Return the description of a method by name, as for `method`; a preset has the description of its method.

    A method of another package is described by the first line of its docstring and by the place that defines it.

    Raises:
        UnknownMethod, BadInput: as for `method`.

    >>> describe("bm25:rograg").group
    'Passages'
    """
    from polygraph.retrieve.catalogue import CATALOGUE, Description

    if name in METHODS:
        return CATALOGUE[name.partition(":")[0]]
    own = method(name)
    place = offered()[name].value if name in offered() else f"{type(own).__module__}:{type(own).__qualname__}"
    return Description(
        group=None,
        summary=(inspect.getdoc(own) or "").partition("\n")[0],
        source=place,
        tokens=f"at most {own.max_tokens:,}",
    )


@cache
def offered() -> Mapping[str, "EntryPoint"]:
    """Return what installed packages offer, by name; looked for once, since reading it takes some milliseconds."""
    from importlib.metadata import entry_points

    return {each.name: each for each in entry_points(group=ENTRY_POINTS)}


def _load(offered: "EntryPoint") -> "Method":
    from polygraph.retrieve.base import why_no_method

    try:
        found = offered.load()
        made: Method = found() if isinstance(found, type) else found
    except Exception as error:  # whatever another package raises
        raise BadInput(
            f"the method {offered.name!r} cannot be loaded from {offered.value}: {type(error).__name__}: {error}"
        ) from error
    if problem := why_no_method(made):
        raise BadInput(f"{offered.value} is not a method: {problem}. See docs/add-a-method.md")
    return made
