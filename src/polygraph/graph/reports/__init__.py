"""Community reports, written by a model or composed of sentences of the documents."""
