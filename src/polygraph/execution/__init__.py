"""Where work runs: the protocol of executors, and the one for a Ray cluster."""
