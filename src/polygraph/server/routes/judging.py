"""Judge a compared question: put it into a study of the methods, in a job."""

from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from polygraph.evaluate.runs.asked_question import JudgingPlan, plan_judging, study_name
from polygraph.models.open import prices_of
from polygraph.records import AnswerForm
from polygraph.retrieve import method as find_method
from polygraph.server.problems import Problem
from polygraph.server.routes import accepted_job, jobs_of
from polygraph.server.state import State, Writer

router = APIRouter(prefix="/api/v1/indexes/{index}", tags=["questions"])


class Judged(BaseModel):
    """A question to judge. There is no filter: a study asks all documents."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(min_length=1, max_length=20_000)
    methods: list[str] = Field(min_length=2, max_length=4)
    max_tokens: int | None = Field(None, ge=1, le=1_000_000)
    form: AnswerForm | None = None
    max_cost: float | None = Field(None, ge=0)
    dry_run: bool = False


@router.post("/judge")
async def judge(index: str, body: Judged, state: State, principal: Writer) -> Response:
    """Judge a compared question in a job; with `dry_run`, tell the study, the calls and the cost only."""
    served, jobs = state.indexes[index], jobs_of(state)
    for name in body.methods:
        find_method(name)
    question = body.question.strip()
    if not question:
        raise Problem(422, "bad-request", "question: there is no question. See: GET /openapi.json")
    options: dict[str, Any] = {"max_tokens": body.max_tokens, "form": body.form}

    def plan() -> JudgingPlan:
        with served.reading() as opened:
            study = study_name(served.name, opened.snapshot(), opened.models, body.methods, **options)
            prices = prices_of(opened.settings)
            return plan_judging(state.studies, study, question, body.methods, opened.models, prices)

    planned = await state.threads.run(plan)
    if body.dry_run:
        return state.json(planned.as_dict())
    arguments = {
        **options,
        "question": question,
        "methods": body.methods,
        "max_cost": body.max_cost,
        "index": served.name,
        "studies": str(state.studies.resolve()),
    }
    about = (question, *sorted(body.methods))
    job = await state.threads.run(lambda: jobs.add("judge", served.name, principal.name, arguments, about))
    return state.json(accepted_job(job, study=planned.study), 202)
