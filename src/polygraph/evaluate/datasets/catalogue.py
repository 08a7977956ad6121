"""Public data sets: what they are, and from a user's own copy to a corpus and a file of questions.

Nothing is shipped and nothing is downloaded. Every set is also read without conversion where it lies as `corpus.jsonl`
and `questions.jsonl` already.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from polygraph.errors import BadInput, StorageFailed
from polygraph.evaluate.datasets import folders as raw_folders
from polygraph.evaluate.datasets import single_file as raw_forms
from polygraph.evaluate.datasets.files import Collected, Reader
from polygraph.evaluate.questions.file import read_questions
from polygraph.evaluate.runs.by_document import may_be_measured, names_document


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """A public data set."""

    name: str
    title: str
    form: str
    """Files that `convert` takes, as published."""
    revision: str
    """What the form was written for."""
    licence: str
    citation: str
    gold: str
    """What is known of each question."""
    scope: str
    """``whole``: one index of all documents; ``single``: each question is about one document, so that papers index each
    document by itself."""
    reader: Reader


_HOTPOT_FORM = "one .json: a list with question, answer, supporting_facts, context"

DATA_SETS: tuple[DataSet, ...] = (
    DataSet(
        name="2wiki",
        title="2WikiMultihopQA",
        form=_HOTPOT_FORM,
        revision="data_ids April 2021, also HippoRAG's sample",
        licence="Apache-2.0; Wikipedia text CC BY-SA",
        citation="Ho et al., COLING 2020",
        gold="answer, documents",
        scope="whole",
        reader=raw_forms.hotpotqa,
    ),
    DataSet(
        name="beir",
        title="any set of BEIR, such as SciFact",
        form="corpus.jsonl, queries.jsonl, and one .tsv of qrels",
        revision="BEIR 1.0",
        licence="of each set; SciFact: CC BY-NC 2.0 (claims), ODC-BY (abstracts)",
        citation="Thakur et al., NeurIPS 2021",
        gold="documents",
        scope="whole",
        reader=raw_forms.beir,
    ),
    DataSet(
        name="hotpotqa",
        title="HotpotQA",
        form=_HOTPOT_FORM,
        revision="hotpot_dev_distractor_v1",
        licence="CC BY-SA 4.0",
        citation="Yang et al., EMNLP 2018",
        gold="answer, documents",
        scope="whole",
        reader=raw_forms.hotpotqa,
    ),
    DataSet(
        name="multihop-rag",
        title="MultiHop-RAG",
        form="corpus.json and MultiHopRAG.json",
        revision="January 2024",
        licence="ODC-BY; articles belong to their publishers",
        citation="Tang and Yang, COLM 2024",
        gold="answer, documents, facts; null questions",
        scope="whole",
        reader=raw_forms.multihop_rag,
    ),
    DataSet(
        name="musique",
        title="MuSiQue (answerable and full)",
        form="one .jsonl with question, answer, answer_aliases, paragraphs",
        revision="v1.0",
        licence="CC BY 4.0",
        citation="Trivedi et al., TACL 2022",
        gold="answers, documents; null questions in the full set",
        scope="whole",
        reader=raw_forms.musique,
    ),
    DataSet(
        name="novelqa",
        title="NovelQA",
        form="Books/*/*.txt and Data/*/*.json of the same names, and bookmeta.json for the titles",
        revision="NovelQA.zip (objects by number) and the format before it (lists)",
        licence="Apache-2.0; some novels are protected, and its authors ask not to pass the files on",
        citation="Wang et al., ICLR 2025",
        gold="document; option, where your copy has the field Gold: the public files have none",
        scope="single",
        reader=raw_folders.novelqa,
    ),
    DataSet(
        name="nq",
        title="Natural Questions, as DPR published them",
        form="one .json: a list with question, answers, positive_ctxs, hard_negative_ctxs",
        revision="biencoder-nq-dev",
        licence="CC BY-SA 3.0; DPR's files CC BY-NC 4.0",
        citation="Kwiatkowski et al., TACL 2019; Karpukhin et al., EMNLP 2020",
        gold="answers, documents (each is enough)",
        scope="single",
        reader=raw_forms.dpr,
    ),
    DataSet(
        name="odsum",
        title="ODSum (story and meeting)",
        form="documents/*.jsonl and queries.jsonl of data/Story/raw, or Documents/*.txt and queries.json of "
        "data/Meeting/raw",
        revision="repository of October 2023",
        licence="MIT; summaries of stories CC BY 4.0, stories under the Project Gutenberg licence",
        citation="Zhou et al., 2023",
        gold="reference summaries, documents",
        scope="whole",
        reader=raw_folders.odsum,
    ),
    DataSet(
        name="popqa",
        title="PopQA",
        form="one .tsv with question and possible_answers; it has no documents",
        revision="test.tsv",
        licence="MIT",
        citation="Mallen et al., ACL 2023",
        gold="answers",
        scope="whole",
        reader=raw_forms.popqa,
    ),
    DataSet(
        name="qmsum",
        title="QMSum",
        form=".json files, one a meeting, or .jsonl with one a line",
        revision="data/ALL",
        licence="MIT",
        citation="Zhong et al., NAACL 2021",
        gold="reference summary, meeting, passages",
        scope="single",
        reader=raw_forms.qmsum,
    ),
    DataSet(
        name="seedbench",
        title="SeedBench",
        form="corpus/279segments.json and files of tasks, 1-1.json to 3-5.json (sft_model_eval/zero-shot)",
        revision="March 2025",
        licence="repository GPL-3.0; its page of March 2025 said CC BY 4.0 of the data",
        citation="Ying et al., ACL 2025",
        gold="answer; documents of reading and summaries",
        scope="whole",
        reader=raw_folders.seedbench,
    ),
    DataSet(
        name="squality",
        title="SQuALITY",
        form=".jsonl files with document and questions, one story a line",
        revision="v1-3, txt",
        licence="CC BY 4.0 (summaries); stories under the Project Gutenberg licence",
        citation="Wang et al., EMNLP 2022",
        gold="four reference summaries, story",
        scope="single",
        reader=raw_forms.squality,
    ),
    DataSet(
        name="ultradomain",
        title="UltraDomain",
        form="one .jsonl a domain with input, context, answers",
        revision="September 2024",
        licence="Apache-2.0; texts are of books under their own rights",
        citation="Qian et al. (MemoRAG), WWW 2025",
        gold="answers, document",
        scope="whole",
        reader=raw_forms.ultradomain,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """What `convert` wrote."""

    documents: int
    questions: int
    null: int
    folder: Path
    per_document: bool
    """Whether each question is to be asked of an index of its own document, as papers do with such sets."""
    measurable: bool
    """Whether some question has gold for `eval retrieval`, on such indexes or on one of all documents."""


def convert(name: str, files: Sequence[str | Path], folder: str | Path) -> Converted:
    """Write `corpus.jsonl` and `questions.jsonl` from a user's copy of a public data set.

    Equal paragraphs of several questions become one document. Both files are written whole or not at all; the same
    input gives the same bytes.

    Args:
        name: of the data set, as `DATA_SETS` lists it.
        files: as the set's `form` says.
        folder: made if it is not there.

    Raises:
        BadInput: if there is no such set, a file is not there or not of its form, or the folder holds files of these
            names.
    """
    found = next((d for d in DATA_SETS if d.name == name), None)
    if found is None:
        raise BadInput(
            f"there is no data set {name!r}. Choose one of: {', '.join(d.name for d in DATA_SETS)}"
        )
    paths = [Path(file) for file in files]
    for path in paths:
        if not path.is_file():
            told = f"{path} is a folder; name its files" if path.is_dir() else f"there is no file {path}"
            raise BadInput(f"{told}. {found.title} is read from {found.form}")
    place = Path(folder)
    targets = [place / "corpus.jsonl", place / "questions.jsonl"]
    for target in targets:
        if target.exists():
            raise BadInput(f"{target} is there already. Name a new folder with --output")
    collected = Collected()
    try:
        found.reader(paths, collected)
    except BadInput as problem:
        raise BadInput(f"{problem}. {found.title} is read from {found.form}") from problem
    if not collected.questions:
        raise BadInput(f"no question was found in {', '.join(map(str, paths))}. It should be {found.form}")
    rows = (list(collected.documents.values()), collected.questions)
    try:
        place.mkdir(parents=True, exist_ok=True)
        for target, some in zip(targets, rows, strict=True):
            temporary = target.with_name(f"{target.name}.tmp")
            with temporary.open("w", encoding="utf-8", newline="\n") as opened:
                opened.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in some)
                opened.flush()
                os.fsync(opened.fileno())
            temporary.replace(target)
    except OSError as problem:
        raise StorageFailed(
            f"{place} cannot be written: {problem}. Name another folder with --output"
        ) from problem
    asked = read_questions(targets[1])
    alone = found.scope == "single" and all(names_document(q) for q in asked if not q.null)
    return Converted(
        documents=len(collected.documents),
        questions=len(collected.questions),
        null=sum(q.null for q in asked),
        folder=place,
        per_document=alone,
        measurable=any(may_be_measured(q) or (q.evidence and not alone) for q in asked if not q.null),
    )
