"""Settings of a server: addresses, rights and limits, as plain values."""

from dataclasses import dataclass
from pathlib import Path

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
"""Names of this machine for itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Everything a server needs to know besides its indexes and tokens."""

    host: str = "127.0.0.1"
    port: int = 8321
    hosts: frozenset[str] = LOOPBACK
    """Host names that requests may be addressed to. Any other name could be one that a foreign site has pointed at this
    machine (DNS rebinding)."""
    page: bool = True
    """Whether the page is served beside the API."""
    write: bool = True
    """Whether documents and entities may be changed."""
    studies: Path | None = None
    """Folder whose folders are studies and whose JSON files are retrieval evaluations; None: ``studies`` in the
    folder of the first index."""

    max_body_bytes: int = 1_000_000
    max_upload_bytes: int = 200_000_000
    """Largest body of an upload of documents, all files together."""
    max_file_bytes: int = 100_000_000
    """Largest file of an upload."""
    max_files: int = 200
    """Files of one upload."""
    jobs: Path | None = None
    """File of the queue of jobs; None: ``jobs.sqlite`` in the folder of the first index."""
    open_index: str = "polygraph.server.jobs.worker:open_index"
    """``MODULE:FUNCTION`` with which the process that works on jobs opens an index from folder and settings."""
    threads: int = 32
    """Questions worked on at once."""
    waiting: int = 128
    """Questions that wait for a thread; further ones are refused."""
    requests_per_minute: int = 1200
    """Per token, on average."""
    burst: int = 240
    """Requests of one token that may come at once."""
    max_connections: int = 512
    header_timeout_s: float = 15.0
    """For a connection to send the head of its next request, once it has begun or connected."""
    body_timeout_s: float = 30.0
    """For a body that is no upload."""
    upload_timeout_s: float = 900.0
    send_timeout_s: float = 60.0
    """For a client to take the next piece of a response."""
    heartbeat_s: float = 15.0
    """Between comments that keep an idle stream of events open."""
    stop_timeout_s: float = 20.0
    """For running requests to end when the server stops."""
    kept_answers: int = 256
    """Answers kept for `explain` and for streams that resume."""
    kept_bytes: int = 64_000_000
    """Size of the kept answers together."""
    kept_s: float = 3600.0
    """Age at which an answer is dropped."""
    resume_s: float = 20.0
    """How long an answer is still worked on after its last reader has gone."""
