"""Tables of the papers, measured again."""
