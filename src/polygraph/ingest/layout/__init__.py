"""What stands beside and above each other on a page, as text: tables, pages of a PDF, superscripts."""
