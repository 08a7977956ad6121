"""How answers, comparisons and explanations look in a terminal."""
