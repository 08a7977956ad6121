"""From resolved extraction rows to the merged graph."""
