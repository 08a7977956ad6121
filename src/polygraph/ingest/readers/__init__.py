"""Readers of file formats, a module for each family.

Each makes a `content.FileContent` of the text or the bytes of one file; `formats` says which reads which.
"""
