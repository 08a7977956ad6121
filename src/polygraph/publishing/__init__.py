"""Publishing the finished state of an index to object storage, and reading it through a local cache."""
