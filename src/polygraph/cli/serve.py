"""The commands that serve indexes over HTTP and make tokens for it."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Optional

import typer

from polygraph.cli.open_index import local_folder, open_to_serve
from polygraph.cli.options import CostOption, IndexesOption, OfflineOption, SpendOption, caps
from polygraph.errors import BadInput, MissingExtra, quoted

if TYPE_CHECKING:
    from polygraph.server.access.tokens import Tokens
    from polygraph.server.settings import ServerSettings

app: typer.Typer = typer.Typer()
_EVERYWHERE = {"", "0.0.0.0", "::", "*"}  # noqa: S104 - recognised in order to be refused or allowed


@app.command()
def serve(
    index: IndexesOption = None,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port; 0: any that is free.")
    ] = 8321,
    allow_host: Annotated[
        Optional[list[str]],
        typer.Option(
            "--allow-host", metavar="NAME", help="Further host name of the server; may be repeated."
        ),
    ] = None,
    tokens: Annotated[
        Optional[Path],
        typer.Option(
            "--tokens", metavar="FILE", help="Accepted tokens, one per line (see: polygraph token)."
        ),
    ] = None,
    read_only: Annotated[
        bool,
        typer.Option("--read-only", help="Answer questions only; change neither documents nor entities."),
    ] = False,
    page: Annotated[bool, typer.Option("--page/--no-page", help="Serve the page beside the API.")] = True,
    studies: Annotated[
        Optional[Path],
        typer.Option(
            "--studies",
            metavar="DIR",
            help="Folder of studies; default: studies in the folder of the first index.",
        ),
    ] = None,
    requests_per_minute: Annotated[
        int, typer.Option("--requests-per-minute", metavar="N", min=1, help="Average requests per token.")
    ] = 1200,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    offline: OfflineOption = False,
) -> None:
    """Serve indexes to browsers and programs. Offers a page, an HTTP API and OpenAI-compatible endpoints."""
    try:
        from polygraph.server import run
        from polygraph.server.app import create_app
        from polygraph.server.log import show_log
    except ModuleNotFoundError as error:
        raise MissingExtra("polygraph serve", "server") from error
    from polygraph.publishing.object_store import url_of
    from polygraph.server.settings import LOOPBACK, ServerSettings

    settings = ServerSettings(
        host=host,
        port=port,
        hosts=LOOPBACK | {name.lower() for name in allow_host or ()} | ({host.lower()} - _EVERYWHERE),
        page=page,
        write=not read_only,
        studies=studies,
        requests_per_minute=requests_per_minute,
        burst=max(1, requests_per_minute // 5),
    )
    folders = named_folders(index or [])
    if settings.write and any(url_of(folder) for folder in folders.values()):
        if not all(url_of(folder) for folder in folders.values()):
            raise BadInput("a published index is only read. Serve it together with others by: --read-only")
        settings = replace(settings, write=False)
    accepted, made = _tokens(tokens, settings)
    show_log()
    opened = {
        name: open_to_serve(
            folder, settings.threads, settings.write, **caps(max_cost, max_spend_tokens, None, offline)
        )
        for name, folder in folders.items()
    }
    application = create_app(opened, accepted, settings)
    run.serve(application, settings, lambda at: _show_start(settings, at, list(opened), made))
    if application.is_working():
        # The time to stop is over, and the interpreter would wait for a model as long as that takes.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


@app.command()
def token(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Whose token it is: letters, digits and . _ @ -")
    ],
    scope: Annotated[
        Literal["read", "write", "admin"], typer.Option("--scope", help="What the token permits.")
    ] = "read",
) -> None:
    """Make a token for `polygraph serve --tokens FILE`. Prints the token, and the line for the file."""
    from polygraph.server.access.tokens import new_token, token_line

    made = new_token()
    line = token_line(name, scope, made)
    typer.echo(f"token, shown only now: {made}", err=True)
    print(line)


def named_folders(given: list[str]) -> dict[str, Path]:
    """Return folders by name; without a name, by the name of the folder."""
    import re

    from polygraph.config import load_settings
    from polygraph.publishing.object_store import url_of
    from polygraph.store.postgres.folder import database_of, database_url_of

    settings = load_settings({})
    if not given:
        given = [str(settings.index)]
    found: dict[str, Path] = {}
    for each in given:
        is_url = url_of(each) or database_url_of(each)
        before, sign, after = ("", "", "") if is_url else each.partition("=")
        given_folder = Path(after if sign else each)
        folder = local_folder(given_folder, settings)
        database = database_of(folder)
        own_name = database.schema if database else given_folder.resolve().name.removesuffix(".index")
        name = before if sign else own_name
        if not re.fullmatch(r"[\w.-]{1,64}", name) or name.startswith("."):
            raise BadInput(
                f"{name!r} cannot be the name of an index in addresses. "
                f"Name it as in: --index {quoted(f'papers={folder}')}"
            )
        if name in found:
            raise BadInput(
                f"two indexes are named {name}. Name one as in: --index {quoted(f'other={folder}')}"
            )
        found[name] = folder
    return found


def _tokens(file: Path | None, settings: "ServerSettings") -> "tuple[Tokens, str]":
    """Return the accepted tokens, and the one that was made for this run if there is one.

    Raises:
        BadInput: if the server would listen elsewhere than on loopback without tokens of its own.
    """
    from polygraph.config import server_tokens
    from polygraph.server.access.tokens import Principal, new_token, one_token, parse_tokens, read_tokens
    from polygraph.server.settings import LOOPBACK

    if file is not None:
        return read_tokens(file), ""
    given = server_tokens()
    if given:
        found = parse_tokens(given, "POLYGRAPH_SERVER_TOKENS")
        if len(found):
            return found, ""
    if settings.host not in LOOPBACK:
        raise BadInput(
            f"--host {settings.host} lets other machines connect, which requires tokens of your own. Make one with "
            "polygraph token NAME >> tokens.txt, and serve with: --tokens tokens.txt"
        )
    made = new_token()
    return one_token(made, Principal("local", "admin")), made


def _show_start(settings: "ServerSettings", port: int, names: list[str], made: str) -> None:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"http://{host}:{port}"
    print(f"serving {', '.join(names)} at {address}")
    if made:
        if settings.page:
            print(f"open:    {address}/#token={made}")
        print(f"programs: Authorization: Bearer {made}")
    print("stop with Ctrl-C", flush=True)
