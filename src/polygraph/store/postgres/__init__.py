"""The store of an index in PostgreSQL: one schema of a database, and a local folder for the files of layers."""
