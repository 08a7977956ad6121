"""Entities as a user looks at them and decides about them."""
