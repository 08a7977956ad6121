"""What the API shows of studies: the folders below one folder, their reports, and their answers as points."""

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from polygraph.evaluate.reports.charts import pca_2d
from polygraph.evaluate.reports.study_report import embed_answers
from polygraph.evaluate.runs.study_folder import MANIFEST, StudyFolder, is_study, open_study
from polygraph.models import Models
from polygraph.server.problems import Problem, unknown

_MAX_POINTS = 5_000
_MAX_TEXT = 400
_MAX_REPORT = 50_000_000


def study_list(folder: Path) -> list[dict[str, Any]]:
    """Return the studies of a folder by name; what is not a study of this format is left out."""
    if not folder.is_dir():
        return []
    return [study_view(folder, each.name, brief=True) for each in sorted(folder.iterdir()) if is_study(each)]


def study_view(folder: Path, name: str, *, brief: bool = False) -> dict[str, Any]:
    """Return what a study consists of, and what its report recommends.

    Args:
        folder: of all studies.
        name: of the study.
        brief: leave out the conclusions and settings.

    Raises:
        Problem: 404 for an unknown study.
    """
    study = study_folder(folder, name)
    answers = study.answers()
    values: dict[str, Any] = {
        "name": name,
        "questions": len(study.questions()) if study.has_questions else 0,
        "answers": len(answers),
        "judgements": len(study.judgements()),
        "methods": sorted({answer.method for answer in answers}),
        "has_report": (study.path / "report.html").is_file(),
    }
    if brief:
        return values
    conclusions: list[str] = []
    with suppress(OSError, ValueError, KeyError, TypeError):
        report = json.loads((study.path / "report.json").read_text(encoding="utf-8"))
        values["title"] = str(report["title"])
        conclusions = [str(each) for each in report["findings"]["conclusions"]]
    return values | {"recommendation": conclusions, "settings": study.settings()}


def study_report(folder: Path, name: str) -> str:
    """Return the page that a study wrote.

    Raises:
        Problem: 404 if there is none.
    """
    file = study_folder(folder, name).path / "report.html"
    if not file.is_file() or file.stat().st_size > _MAX_REPORT:
        raise Problem(
            404, "no-report", f"the study {name} has no report yet. Write it with: polygraph eval report"
        )
    return file.read_text(encoding="utf-8", errors="replace")


def study_points(folder: Path, name: str, models: Models) -> list[dict[str, Any]]:
    """Return the answers of a study as points: their vectors on the plane of the first two principal components.

    Raises:
        Problem: 404 for an unknown study.
    """
    study = study_folder(folder, name)
    answers = study.answers()[:_MAX_POINTS]
    if len(answers) < 3:
        return []
    questions = {q.id: q.question for q in study.questions()} if study.has_questions else {}
    plane = pca_2d(embed_answers(answers, models.name_embedder))
    return [
        {
            "x": round(float(x), 4),
            "y": round(float(y), 4),
            "method": answer.method,
            "question": questions.get(answer.question, answer.question)[:_MAX_TEXT],
            "text": answer.text[:_MAX_TEXT],
            "refused": answer.refused,
        }
        for answer, (x, y) in zip(answers, plane, strict=True)
    ]


def study_folder(folder: Path, name: str) -> StudyFolder:
    """Open a study by name; a name is never a path.

    Raises:
        Problem: 404 for an unknown study.
    """
    if not re.fullmatch(r"\w[\w. -]{0,99}", name) or not (folder / name / MANIFEST).is_file():
        raise unknown("study", name, "/api/v1/studies")
    return open_study(folder / name)
