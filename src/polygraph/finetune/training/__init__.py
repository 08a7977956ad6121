"""Training of a small reader on rows: LoRA with or without a 4-bit base, its checkpoints, and its export."""
