"""Entity resolution: which mentions are one entity."""
