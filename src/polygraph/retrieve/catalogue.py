"""What each method is good for, what it costs and where it comes from, for `polygraph methods` and the docs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, TypeAlias

Group: TypeAlias = Literal["Passages", "Facts", "Entities", "Overviews", "Combinations"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A method, described to somebody who has to choose one."""

    group: Group | None
    """What the method searches; methods are listed under these headings. None for a method of another package."""
    summary: str
    """What it is for, in one line."""
    source: str
    """Paper or system, and section."""
    tokens: str = ""
    """Tokens of context per question, as a formula or a bound."""
    form: str = "cited"
    """Form of its answers unless another one is chosen (`records.AnswerForm`); presets may differ."""
    good: str = ""
    """What it is good at, with published figures and their source."""
    bad: str = ""
    """What it is bad at, with published figures and their source."""


_KG_TRIPLETS = Description(
    group="Facts",
    summary="facts (subject, predicate, object) about what the question names",
    source="RAG vs. GraphRAG, arXiv:2502.11371, section 3.2; LlamaIndex (Liu 2022)",
    tokens="30 facts, about 400 tokens; at most 6,000",
    good=(
        "refusing questions that have no answer: 98.7% of MultiHop-RAG's null queries with an 8B model, RAG 96.0% "
        "(arXiv:2502.11371, table 2)"
    ),
    bad=(
        "anything that is not stated as a triple: F1 of 25.0 on HotpotQA with an 8B model, RAG 60.0; only 65.8% of its "
        "answers are entities of the graph (arXiv:2502.11371, section 4.2)"
    ),
)
_LIGHTRAG_LOCAL = Description(
    group="Entities",
    summary="entities that match the details of the question, with their relations and passages",
    source="LightRAG, arXiv:2410.05779, section 3.2",
    form="overview for broad questions, else cited",
    tokens="at most 30,000; 19,650 measured for version 1.0.0 in hybrid mode (arXiv:2506.06331, table 2)",
    good=(
        "broad questions whose answer is spread over many passages; against FG-RAG it wins up to 46% on diversity, its "
        "best criterion (arXiv:2504.07103, table 1)"
    ),
    bad=(
        "multi-hop questions: 43.5% correct, naive RAG 54.4% (arXiv:2504.07103, table 2); last of four, behind naive "
        "RAG, with a debiased judge (arXiv:2506.06331, figure 10); expensive"
    ),
)

CATALOGUE: Mapping[str, Description] = MappingProxyType(
    {
        "naive": Description(
            group="Passages",
            summary="passages close to the question in meaning; single facts, paraphrases",
            source="baseline of all five papers",
            tokens="k x chunk tokens, at most 6,000",
            good="single facts and paraphrases; as good as graph methods on one-hop questions (arXiv:2502.11371)",
            bad="questions about several documents at once, or about the whole collection",
        ),
        "bm25": Description(
            group="Passages",
            summary="passages that share rare words with the question; names, numbers, exact terms",
            source="Robertson and Zaragoza (2009); baseline of ROGRAG",
            tokens="k x chunk tokens, at most 6,000",
            good="names, numbers and rare words, at no cost",
            bad="paraphrases; long answers, for which it retrieves too little (ROGRAG, arXiv:2503.06474)",
        ),
        "hybrid": Description(
            group="Passages",
            summary="words and meaning combined; the safe choice when single passages hold the answer",
            source="Cormack, Clarke and Buettcher (2009)",
            tokens="k x chunk tokens, at most 6,000",
            good="questions that mix names with meaning; more reliable than `bm25` or `naive` alone",
            bad="multi-hop questions: it finds no passage that does not itself resemble the question",
        ),
        "rq-rag": Description(
            group="Passages",
            summary="several questions in one, or questions worded differently from the documents",
            source="RQ-RAG, arXiv:2404.00610",
            tokens="ndocs x chunk tokens per query on a path, read again by each call below it",
            good=(
                "questions that must be decomposed or reworded; with a model trained for it, better than plain "
                "retrieval on three multi-hop datasets (arXiv:2404.00610)"
            ),
            bad=(
                "cost: 25 calls per question; 0.59 on SeedBench QA-1, barely more than the model alone (0.57) and less "
                "than BM25 (0.65) (arXiv:2503.06474); irrelevant passages are never dropped"
            ),
        ),
        "graph-cot": Description(
            group="Facts",
            summary="questions answered by moving from one entity to the next, step by step",
            source="Graph-CoT, arXiv:2404.07103, section 3",
            tokens="at most 10,000 per call, growing with each step",
            good=(
                "multi-hop questions over a graph with clear edge types, such as papers and authors (arXiv:2404.07103)"
            ),
            bad=(
                "cost: up to 30 calls, each with a longer prompt; weak models lose track; a wrong first node is "
                "noticed only if the agent searches again"
            ),
        ),
        "graphrag-local": Description(
            group="Entities",
            summary="everything known about particular people, places and things, and how they are related",
            source="Microsoft GraphRAG, arXiv:2404.16130",
            tokens="at most 12,000",
            good=(
                "multi-hop questions: best of the GraphRAG variants, and better than RAG at reasoning "
                "(arXiv:2502.11371, table 2)"
            ),
            bad="single facts, where RAG is as good or better; entities without descriptions (noun-phrase graphs)",
        ),
        "graphrag-global": Description(
            group="Overviews",
            summary="questions about the whole collection; reads every report, so the cost grows with the collection",
            source="Microsoft GraphRAG, arXiv:2404.16130",
            form="overview",
            tokens="all reports in batches, then at most 12,000",
            good="overviews of a whole collection (arXiv:2404.16130)",
            bad=(
                "details and unanswerable questions: 19% and 14% correct (arXiv:2502.11371); 326,200 tokens per "
                "question (arXiv:2506.06331)"
            ),
        ),
        "graphrag-drift": Description(
            group="Overviews",
            summary="a broad question followed into detail; the most expensive method",
            source="Microsoft GraphRAG, DRIFT search",
            form="overview",
            tokens="up to 60 local searches of 12,000, then at most 12,000",
            good="broad questions that also need details, where cost does not matter",
            bad=(
                "cost and time: 54 to 56 calls and 610,000 tokens per question on a corpus of 60,000 tokens (our "
                "measurement); none of the papers compares it"
            ),
        ),
        "fg-rag": Description(
            group="Overviews",
            summary="overviews that need background: widens the search, then summarizes for the question",
            source="FG-RAG (Hong et al., 2025), sections 3.2 and 3.3",
            form="overview",
            tokens="at most 4,000 for each of m + 1 summaries, then the summaries",
            good=(
                "many sides of a subject: preferred to GraphRAG in 65% and to LightRAG in 59% of pairs (gpt-4o-mini, "
                "table 1), with 10,900 tokens per question where GraphRAG uses 293,000 (table 5)"
            ),
            bad=(
                "two calls per entity of the question; multi-hop questions with small models: 30% correct with a 3B "
                "model, naive RAG 32% (table 2)"
            ),
        ),
        "graft": Description(
            group="Overviews",
            summary="the nearest community report: the cheapest overview of a subject",
            source="GRAFT (Jin, Yu and Kokoromyti), section 4.2",
            tokens="k reports, at most 6,000",
            good=(
                "overviews for the price of one call: ROUGE-1 of 0.288 on global questions, naive RAG 0.168; with a "
                "fine-tuned reader 0.428 (figure 2)"
            ),
            bad=(
                "details, and subjects that no community covers: nothing corrects a wrong report; evaluated on 74 "
                "documents and 67 questions, against answers that a model wrote (section 5)"
            ),
        ),
        "kg-triplets": _KG_TRIPLETS,
        "kg-text": replace(
            _KG_TRIPLETS,
            summary="facts about what the question names, with the passages that state them",
            tokens="10 passages and 30 facts; at most 6,000",
            good=(
                "facts about named things: F1 of 42.6 on HotpotQA with an 8B model, 25.0 without passages "
                "(arXiv:2502.11371, table 1)"
            ),
            bad=(
                "single facts and multi-hop questions alike: F1 of 42.6 on HotpotQA with an 8B model, RAG 60.0 "
                "(arXiv:2502.11371, table 1)"
            ),
        ),
        "lightrag-local": _LIGHTRAG_LOCAL,
        "lightrag-global": replace(
            _LIGHTRAG_LOCAL,
            summary="relations that match the themes of the question, with their entities and passages",
        ),
        "lightrag-hybrid": replace(
            _LIGHTRAG_LOCAL,
            summary="entities that match the details and relations that match the themes of the question",
        ),
        "lightrag-mix": replace(
            _LIGHTRAG_LOCAL, summary="as lightrag-hybrid, with the passages closest to the question"
        ),
        "rograg-dual": Description(
            group="Entities",
            summary="entities and relations that resemble the keywords of a question, and their passages",
            source="ROGRAG, arXiv:2503.06474, section 3.2",
            tokens="at most 28,000; 9,863 measured (arXiv:2503.06474, table 6)",
            good=(
                "vague and ill-formed questions; 0.74 on the multiple-choice questions of SeedBench, logic form alone "
                "0.55 (arXiv:2503.06474, table 6)"
            ),
            bad="arithmetic and multi-hop questions; long contexts; evaluated on one domain with one model",
        ),
        "rograg-logic": Description(
            group="Entities",
            summary="multi-hop questions, counting, comparing and arithmetic, computed step by step over the graph",
            source="ROGRAG, arXiv:2503.06474, section 3.2",
            tokens="at most 6,000; 1,699 measured (arXiv:2503.06474, table 6)",
            good=(
                "calculations and multi-hop questions, with steps that can be checked; a sixth of the context of "
                "dual-level retrieval (1,699 against 9,863 tokens, arXiv:2503.06474, table 6)"
            ),
            bad=(
                "accuracy on its own: 0.55 on the multiple-choice questions of SeedBench, dual-level 0.74 "
                "(arXiv:2503.06474, table 6); errors in the plan propagate"
            ),
        ),
        "rograg": Description(
            group="Entities",
            summary="step-by-step reasoning over the graph; dual-level retrieval where that cannot be verified",
            source="ROGRAG, arXiv:2503.06474",
            tokens=(
                "at most 6,000 by logic form (1,699 measured), 28,000 by dual-level (9,863 measured; "
                "arXiv:2503.06474, table 6)"
            ),
            good=(
                "domain questions, single-hop and multi-hop: 0.75 on the multiple-choice questions of SeedBench, BM25 "
                "0.65, no retrieval 0.57 (arXiv:2503.06474, tables 2 and 7)"
            ),
            bad=(
                "calls: five or more per question; barely better than dual-level alone (0.75 against 0.74); evaluated "
                "on one domain with one model"
            ),
        ),
        "select": Description(
            group="Combinations",
            summary="mixed questions: single facts go to passages, the rest to the graph",
            source="“RAG vs. GraphRAG”, Selection, arXiv:2502.11371, section 4.4",
            tokens="those of the chosen method, plus one short question",
            good=(
                "collections that get both kinds of question: 1.1% over the better method on MultiHop-RAG with a 70B "
                "model, for one short call more (arXiv:2502.11371, section 4.4)"
            ),
            bad="a wrong choice cannot be corrected; gains are smaller than those of `integrate`",
        ),
        "integrate": Description(
            group="Combinations",
            summary="any question, at the cost of all its methods together",
            source="“RAG vs. GraphRAG”, Integration, arXiv:2502.11371, section 4.4",
            tokens="the contexts of its methods together, at most 18,000",
            good=(
                "the best of all in “RAG vs. GraphRAG”: 6.4% over the better method on MultiHop-RAG with a 70B model "
                "(section 4.4)"
            ),
            bad="about twice the context; for summaries barely better than RAG alone (tables 4 and 5)",
        ),
        "walk": Description(
            group="Passages",
            summary="passages that match the question, and passages they lead to through a name",
            source="ours; the walk by Andersen, Chung and Lang (2006)",
            tokens="k x chunk tokens, at most 6,000",
            good=(
                "multi-hop questions over titled documents: all evidence in the top 10 for 99% of 133 questions of "
                "2wiki and 56% of 144 of musique, where hybrid has 47% and 27% (benchmarks/results/walk.md)"
            ),
            bad=(
                "untitled passages that share a few famous names, unless the question has long clauses; texts "
                "without capital letters; questions about the whole collection"
            ),
        ),
        "fast-graphrag": Description(
            group="Facts",
            summary="entities near those of the question in the graph, with their relations and passages",
            source="FastGraphRAG (circlemind-ai/fast-graphrag)",
            tokens="at most 16,000; 3,310 measured (arXiv:2506.06331)",
            good=(
                "questions about particular entities at low cost: first of four in arXiv:2506.06331, with a relative "
                "win rate 21% over LightRAG and 11% over GraphRAG, and 3,310 tokens per question against 19,650 and "
                "326,200"
            ),
            bad=(
                "broad questions: FG-RAG's answers are preferred in 67% to 78% of pairs (arXiv:2504.07103); questions "
                "that name nothing; passages that state no relation, which it never finds"
            ),
        ),
        "hipporag": Description(
            group="Facts",
            summary="passages that facts connect to the question; questions that need several documents",
            source="HippoRAG 2, arXiv:2502.14802, section 3",
            tokens="k x chunk tokens, at most 6,000",
            good=(
                "multi-hop questions: recall@5 of 74.7 on MuSiQue and 90.4 on 2Wiki, where its dense retriever alone "
                "has 69.7 and 76.5 (arXiv:2502.14802, table 3)"
            ),
            bad=(
                "questions about the whole collection; single facts, where it is no better than dense retrieval (NQ "
                "78.0 against 75.4); graphs without triples, and fact vectors of a weak embedder"
            ),
        ),
    }
)
"""Every method by name, presets aside."""
