"""Checks of the tables of a store: what is put comes back, in the promised order, and what is removed is gone."""

from collections.abc import Callable

from polygraph.store.protocol import Store
from tests.contract.table_checks.documents import (
    check_chunks,
    check_documents,
    check_removal,
    check_shared_text,
)
from tests.contract.table_checks.extractions import (
    check_changed_documents,
    check_decisions,
    check_extractions,
    check_lost_relations,
)
from tests.contract.table_checks.graph import check_graph, check_large_graph
from tests.contract.table_checks.layers import check_metadata, check_vectors
from tests.contract.table_checks.moving import check_moving
from tests.contract.table_checks.reports import check_reports

__all__ = ["TABLE_CHECKS"]

TABLE_CHECKS: tuple[Callable[[Store], None], ...] = (
    check_documents,
    check_shared_text,
    check_chunks,
    check_removal,
    check_extractions,
    check_changed_documents,
    check_decisions,
    check_lost_relations,
    check_graph,
    check_large_graph,
    check_reports,
    check_metadata,
    check_moving,
    check_vectors,
)
