"""The indexes as an MCP server.

- `server`: tools and resources, over stdio and over HTTP.
- `results`: what the tools return.
"""
