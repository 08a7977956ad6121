"""The HTTP server over indexes: API, OpenAI-compatible endpoints, page. `app.create_app` is the way in."""
