"""What each kind of job does, by the Python API."""

from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polygraph.errors import BadInput, IndexLocked, PolygraphError
from polygraph.server.uploads.folder import UploadFolder
from polygraph.workspace.graph_map import GraphMap
from polygraph.workspace.index import Index
from polygraph.workspace.json_views import build_report_json, entity_change_json, estimate_json

if TYPE_CHECKING:
    from polygraph.indexing.progress import BuildReport, Progress
    from polygraph.workspace.entities import EntityChange

_WAIT_S = 2.0
"""Between two looks whether the index can be written."""
_MAX_WAITS = 300
_READING = frozenset({"estimate", "judge"})
"""Kinds that leave the index as it is."""


def run(kind: str, index: Index, arguments: Mapping[str, Any], progress: "Progress") -> Any:
    """Do the work of a job and return its report as JSON.

    Args:
        kind: a key of `KINDS`.
        index: open.
        arguments: of the job.
        progress: called after each item; it raises to end the work.

    Raises:
        PolygraphError: as the verbs of the index.
    """
    work = KINDS[kind]
    for n in range(_MAX_WAITS + 1):
        try:
            report = work(index, arguments, progress)
            if kind not in _READING:
                _keep_places(index)
            return report
        except IndexLocked:
            if n == _MAX_WAITS:
                raise
            progress("waiting for another writer", 0, 0)
    raise AssertionError  # the last round returns or raises


def _keep_places(index: Index) -> None:
    """Compute the places of the graph now, so that nobody waits for them at the first look."""
    with suppress(PolygraphError):
        GraphMap(index.snapshot())


def _index(index: Index, arguments: Mapping[str, Any], progress: "Progress") -> Any:
    """Index the files of an upload, and those of earlier ones that did not get so far.

    No other uploaded file is looked at: its text is in the index, also if a restored copy, or another machine that
    shares a database, does not have the file.
    """
    uploads, upload = UploadFolder(index.folder), arguments["upload"]
    uploads.place(upload)
    report = index.add(
        uploads.folder.resolve(),
        within=uploads.uncommitted(),
        methods=arguments.get("methods", ()),
        extractor=arguments.get("extractor"),
        progress=progress,
        wait_s=_WAIT_S,
    )
    uploads.commit(upload)
    return _report(report)


def _reread(index: Index, _: Mapping[str, Any], progress: "Progress") -> Any:
    """Read every source of the index again that still exists."""
    from polygraph.store.generations import open_finished

    with closing(open_finished(index.folder)) as store:
        roots = sorted({root for root, _ in store.documents.hashes().values()})
    there = [root for root in roots if Path(root).exists()]
    if not there:
        raise BadInput(
            "none of the files that the index was read from is there any more. Upload them instead"
        )
    uploads = UploadFolder(index.folder)
    own = str(uploads.folder.resolve())
    # An uploaded document whose file is not on this machine stays: it goes only if it is removed.
    within: list[str | Path] | None = None
    if own in there:
        within = [*(root for root in there if root != own), *uploads.files()]
    report = _report(index.add(*there, within=within, progress=progress, wait_s=_WAIT_S))
    gone = [root for root in roots if root not in there]
    return report | {
        "notes": [*report["notes"], *(f"{Path(root).name} is not there any more" for root in gone)]
    }


def _remove(index: Index, arguments: Mapping[str, Any], progress: "Progress") -> Any:
    # Before the documents, so that an interrupted job leaves no file that would be read again.
    uploads, files = UploadFolder(index.folder), arguments.get("files", ())
    uploads.remove(files)
    if not arguments["documents"]:  # a file that could not be read is only listed
        within = [uploads.folder / each for each in files]
        # Without any file left there is nothing to list.
        with suppress(BadInput):
            return _report(
                index.add(uploads.folder.resolve(), within=within, progress=progress, wait_s=_WAIT_S)
            )
        return None
    report = index.remove(
        *arguments["documents"], forget=bool(arguments.get("forget")), progress=progress, wait_s=_WAIT_S
    )
    return _report(report)


def _revert(index: Index, arguments: Mapping[str, Any], progress: "Progress") -> Any:
    """Take back an upload that was cancelled: its files, and what was already read from them."""
    from polygraph.store.open_store import is_begun, open_store

    uploads, upload = UploadFolder(index.folder), arguments["upload"]
    files = uploads.placed(upload)
    uploads.remove(files)
    if not is_begun(index.folder):
        return None
    # The unfinished state, which readers do not see.
    with closing(open_store(index.folder, mode="read")) as store:
        begun = [id for id in store.documents.hashes() if id.partition("/")[0] in set(files)]
        complete = store.manifest() is not None
    report = None
    if begun and complete:
        report = _report(index.remove(*begun, progress=progress, wait_s=_WAIT_S))
    uploads.discard(upload)
    return report


def _refresh(index: Index, _: Mapping[str, Any], progress: "Progress") -> Any:
    return _report(index.refresh(progress=progress, wait_s=_WAIT_S))


def _retry(index: Index, _: Mapping[str, Any], progress: "Progress") -> Any:
    return _report(index.retry(progress=progress, wait_s=_WAIT_S))


def _estimate(index: Index, arguments: Mapping[str, Any], _: "Progress") -> Any:
    """Estimate what indexing some files, or what is missing, would cost."""
    uploads, upload = UploadFolder(index.folder), arguments.get("upload")
    try:
        found = index.estimate(
            *(uploads.held(upload) if upload else ()),
            methods=arguments.get("methods", ()),
            extractor=arguments.get("extractor"),
        )
    finally:
        if upload:
            uploads.discard(upload)
    return estimate_json(found)


def _judge(index: Index, arguments: Mapping[str, Any], progress: "Progress") -> Any:
    from polygraph.evaluate.runs.answer_steps import AnswerOptions
    from polygraph.evaluate.runs.asked_question import judge_question, study_name

    methods, options = arguments["methods"], {name: arguments[name] for name in ("max_tokens", "form")}
    # Named by the present state of the index, which may have changed since the job was asked for.
    name = study_name(arguments["index"], index.snapshot(), index.models, methods, **options)
    study = index.experiment(Path(arguments["studies"]) / name, progress=progress)
    return judge_question(study, arguments["question"], methods, AnswerOptions(**options)).as_dict()


def _merge(index: Index, arguments: Mapping[str, Any], progress: "Progress") -> Any:
    return _changed(index.entities.merge(arguments["a"], arguments["b"], progress=progress, wait_s=_WAIT_S))


def _split(index: Index, arguments: Mapping[str, Any], progress: "Progress") -> Any:
    more = {name: arguments[name] for name in ("other", "by") if arguments.get(name)}
    return _changed(index.entities.split(arguments["a"], **more, progress=progress, wait_s=_WAIT_S))


def _rename(index: Index, arguments: Mapping[str, Any], progress: "Progress") -> Any:
    found = index.entities.rename(arguments["a"], arguments["name"], progress=progress, wait_s=_WAIT_S)
    return _changed(found)


def _undo(index: Index, arguments: Mapping[str, Any], progress: "Progress") -> Any:
    return _changed(index.entities.undo(arguments.get("number"), progress=progress, wait_s=_WAIT_S))


def _report(found: "BuildReport") -> dict[str, Any]:
    report = build_report_json(found, ".")
    del report["index"]
    return report


def _changed(found: "EntityChange") -> dict[str, Any]:
    return entity_change_json(found) | {"notes": asdict(found.report)["notes"]}


KINDS: Mapping[str, Callable[[Index, Mapping[str, Any], "Progress"], Any]] = {
    "index": _index,
    "reread": _reread,
    "remove": _remove,
    "revert": _revert,
    "refresh": _refresh,
    "retry": _retry,
    "estimate": _estimate,
    "judge": _judge,
    "merge": _merge,
    "split": _split,
    "rename": _rename,
    "undo": _undo,
}
