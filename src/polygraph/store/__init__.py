"""What an index keeps: rows in SQLite, and files beside it that can be rebuilt from them."""
