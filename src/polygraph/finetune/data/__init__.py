"""Training rows from an index, after RAFT and GRAFT; `build` is the front door."""
