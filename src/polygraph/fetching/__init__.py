"""Pages from the web as files that can be indexed: listed addresses and sitemaps, never links of a page.

`fetch_pages` asks politely (robots.txt, one request a second and host), reaches public addresses only, bounds
everything that a server sends, and asks again only for what has changed.
"""

from polygraph.fetching.client import FetchFailed, PrivateAddress
from polygraph.fetching.fetch import FetchedPage, FetchLimits, FetchReport, fetch_page, fetch_pages

__all__ = [
    "FetchFailed",
    "FetchLimits",
    "FetchReport",
    "FetchedPage",
    "PrivateAddress",
    "fetch_page",
    "fetch_pages",
]
