"""Published tables run again on the user's copy of the data."""
