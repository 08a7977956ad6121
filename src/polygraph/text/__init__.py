"""Words, sentences, tokens, names and languages; no models, no I/O beyond bundled vocabularies."""
