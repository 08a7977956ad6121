"""An index inside other programs' pipelines: one module for each, and each needs the extra of its name."""
