"""Files that come in over HTTP.

- `folder`: uploaded files below an index, received piece by piece within limits.
- `form`: bodies of the form `multipart/form-data`.
"""
