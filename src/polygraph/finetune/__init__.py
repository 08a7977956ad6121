"""A small reader, tuned on passages of an index: its rows (`data`), its training, and its comparison (`compare`)."""
