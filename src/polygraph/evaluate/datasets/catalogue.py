"""Catalogue of public data sets, and conversion of a user's copy to a corpus and a file of questions.

No data set is included or downloaded. `corpus.jsonl` and `questions.jsonl` need no conversion.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from polygraph.errors import BadInput, StorageFailed
from polygraph.evaluate.datasets import folders, single_file
from polygraph.evaluate.datasets.files import DatasetBuilder, DatasetReader
from polygraph.evaluate.questions.document import has_gold_within_document, names_document
from polygraph.evaluate.questions.file import read_questions
from polygraph.store.atomic_files import write_file


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """A public data set."""

    name: str
    title: str
    form: str
    """Published files that `convert` reads."""
    revision: str
    """Release that the reader was written for."""
    licence: str
    citation: str
    gold: str
    """Gold of each question."""
    scope: str
    """``whole``: one index of all documents; ``single``: each question is about one document, and papers index each
    document separately."""
    reader: DatasetReader


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
        reader=single_file.hotpotqa,
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
        reader=single_file.beir,
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
        reader=single_file.hotpotqa,
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
        reader=single_file.multihop_rag,
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
        reader=single_file.musique,
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
        reader=folders.novelqa,
    ),
    DataSet(
        name="nq",
        title="Natural Questions, as DPR published them",
        form="one .json: a list with question, answers, positive_ctxs, hard_negative_ctxs",
        revision="biencoder-nq-dev",
        licence="CC BY-SA 3.0; DPR's files CC BY-NC 4.0",
        citation="Kwiatkowski et al., TACL 2019; Karpukhin et al., EMNLP 2020",
        gold="answers, documents (any one is enough)",
        scope="single",
        reader=single_file.dpr,
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
        reader=folders.odsum,
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
        reader=single_file.popqa,
    ),
    DataSet(
        name="qmsum",
        title="QMSum",
        form=".json files, one per meeting, or .jsonl with one per line",
        revision="data/ALL",
        licence="MIT",
        citation="Zhong et al., NAACL 2021",
        gold="reference summary, meeting, passages",
        scope="single",
        reader=single_file.qmsum,
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
        reader=folders.seedbench,
    ),
    DataSet(
        name="squality",
        title="SQuALITY",
        form=".jsonl files with document and questions, one story per line",
        revision="v1-3, txt",
        licence="CC BY 4.0 (summaries); stories under the Project Gutenberg licence",
        citation="Wang et al., EMNLP 2022",
        gold="four reference summaries, story",
        scope="single",
        reader=single_file.squality,
    ),
    DataSet(
        name="ultradomain",
        title="UltraDomain",
        form="one .jsonl per domain, with input, context, answers",
        revision="September 2024",
        licence="Apache-2.0; texts are of books under their own rights",
        citation="Qian et al. (MemoRAG), WWW 2025",
        gold="answers, document",
        scope="whole",
        reader=single_file.ultradomain,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionResult:
    """Result of `convert`."""

    documents: int
    questions: int
    null: int
    folder: Path
    per_document: bool
    """Whether each question should be asked of an index of its own document, as in papers on such data sets."""
    measurable: bool
    """Whether some question has gold for `eval retrieval`."""


def convert(name: str, files: Sequence[str | Path], folder: str | Path) -> ConversionResult:
    """Write `corpus.jsonl` and `questions.jsonl` from a user's copy of a public data set.

    Equal paragraphs of several questions become one document. Each file is written atomically; the same input gives the
    same bytes.

    Args:
        name: of the data set, as in `DATA_SETS`.
        files: see `DataSet.form`.
        folder: created if it does not exist.

    Raises:
        BadInput: if there is no such data set, a file is missing or of another form, or the folder already has files of
            these names.
    """
    found = next((d for d in DATA_SETS if d.name == name), None)
    if found is None:
        raise BadInput(
            f"there is no data set {name!r}. Choose one of: {', '.join(d.name for d in DATA_SETS)}"
        )
    target_folder = Path(folder)
    targets = [target_folder / "corpus.jsonl", target_folder / "questions.jsonl"]
    for target in targets:
        if target.exists():
            raise BadInput(f"{target} already exists. Name a new folder with --output")
    builder = _read(found, [Path(file) for file in files])
    rows = (list(builder.documents.values()), builder.questions)
    try:
        target_folder.mkdir(parents=True, exist_ok=True)
        for target, some in zip(targets, rows, strict=True):
            write_file(target, (f"{json.dumps(row, ensure_ascii=False)}\n".encode() for row in some))
    except OSError as error:
        raise StorageFailed(
            f"{target_folder} cannot be written: {error.strerror or error}. Name another folder with --output"
        ) from error
    asked = read_questions(targets[1])
    per_document = found.scope == "single" and all(names_document(q) for q in asked if not q.null)
    return ConversionResult(
        documents=len(builder.documents),
        questions=len(builder.questions),
        null=sum(q.null for q in asked),
        folder=target_folder,
        per_document=per_document,
        measurable=any(
            has_gold_within_document(q) or (q.evidence and not per_document) for q in asked if not q.null
        ),
    )


def _read(data_set: DataSet, paths: Sequence[Path]) -> DatasetBuilder:
    """Read the files of a data set; each error says what they should be."""
    form = f"{data_set.title} is read from {data_set.form}"
    for path in paths:
        if not path.is_file():
            problem = f"{path} is a folder; name its files" if path.is_dir() else f"there is no file {path}"
            raise BadInput(f"{problem}. {form}")
    builder = DatasetBuilder()
    try:
        data_set.reader(paths, builder)
    except BadInput as error:
        raise BadInput(f"{error}. {form}") from error
    if not builder.questions:
        raise BadInput(f"no question was found in {', '.join(map(str, paths))}. {form}")
    return builder
