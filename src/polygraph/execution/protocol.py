"""The protocol of executors: what runs a function on plain data, on this machine or on a cluster.

`polygraph.extract.nlp.workers.LocalExecutor` and `polygraph.execution.ray_cluster.RayExecutor` implement it.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

S = TypeVar("S")
T = TypeVar("T")


class Executor(Protocol):
    """Runs functions at the top level of a module on plain data.

    A function may run again if the process that ran it ends, so it has no effect but its result.
    """

    def map(self, function: Callable[[S], T], items: Iterable[S], *, processes: int = 0) -> Iterator[T]:
        """Apply a function to each item; yield the results in the order of the items.

        Args:
            function: the work for one item; it computes.
            items: consumed as needed, so that memory does not grow with their number.
            processes: workers that pay off on one machine, 0: this process. A cluster has its own number.

        Raises:
            WorkFailed: if the workers end again and again during one item.
        """

    def call(self, function: Callable[[S], T], item: S) -> T:
        """Apply a function that mostly waits to one item; several threads may do so at once.

        Raises:
            WorkerLost: if the worker ended during the call, which may have had its effect outside. It is not repeated.
        """
