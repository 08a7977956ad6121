"""The command that serves indexes to one assistant over its standard input and output (MCP)."""

from typing import Annotated

import typer

from polygraph.cli.open_index import open_to_serve
from polygraph.cli.options import CostOption, IndexesOption, OfflineOption, SpendOption, caps
from polygraph.cli.serve import named_folders
from polygraph.errors import MissingExtra

app: typer.Typer = typer.Typer()


@app.command()
def mcp(
    index: IndexesOption = None,
    write: Annotated[bool, typer.Option("--write", help="Also offer tools that change the index.")] = False,
    max_cost: CostOption = None,
    max_spend_tokens: SpendOption = None,
    offline: OfflineOption = False,
) -> None:
    """Serve indexes to an assistant as an MCP server. Speaks over standard input and output."""
    try:
        import anyio

        from polygraph.server.access.tokens import Principal, Tokens
        from polygraph.server.mcp.server import McpServer
        from polygraph.server.served_indexes import ServedIndexes
        from polygraph.server.settings import ServerSettings
        from polygraph.server.state import ServerState
    except ModuleNotFoundError as error:
        raise MissingExtra("polygraph mcp", "server") from error

    from polygraph.publishing.object_store import url_of
    from polygraph.workspace.places import refusal_to_write

    settings = ServerSettings(write=write)
    folders = named_folders(index or [])
    for folder in folders.values():
        if write and (url := url_of(folder)):
            raise refusal_to_write(url)
    opened = {
        name: open_to_serve(
            folder, settings.threads, write, **caps(max_cost, max_spend_tokens, None, offline)
        )
        for name, folder in folders.items()
    }
    state = ServerState(settings, Tokens([]), ServedIndexes(opened))
    server = McpServer(state, write=write, local=Principal("local", "write" if write else "read"))
    try:
        anyio.run(server.run_stdio_async)
    finally:
        state.indexes.close()
