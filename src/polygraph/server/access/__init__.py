"""Who may call the server, and how much of it one caller may take.

- `tokens`: tokens with scopes, and requests from foreign pages.
- `limits`: size and pace of bodies, pace of reading, requests per minute.
"""
