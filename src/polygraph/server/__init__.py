"""The HTTP server over indexes: API, OpenAI-compatible endpoints, MCP, page. `app.create_app` is the way in.

| module | what it holds |
|---|---|
| `app`, `run` | the application and its start with uvicorn |
| `settings`, `state` | settings as plain values; what all routes share |
| `gate` | what every request passes, whatever its route |
| `access` | tokens with scopes; limits on size, pace and rate |
| `routes` | the API, one module for each kind of thing |
| `views` | what the API shows of an index: documents, graph, evaluations, studies |
| `openai_api` | the OpenAI-compatible endpoints |
| `mcp` | tools and resources for assistants |
| `answering`, `events` | an answer in work, and its events |
| `jobs` | changes of an index, in a process of their own |
| `uploads` | files that come in over HTTP |
| `served_indexes` | the indexes, and one snapshot for each request |
| `problems`, `metrics` | errors as `application/problem+json`; figures for Prometheus |
"""
