"""Writes small mails of Outlook: compound files ([MS-CFB], version 3) of properties ([MS-OXMSG]).

Streams below 4,096 bytes lie in the short sectors of the stream of the root, as the format demands.
"""

import struct
from datetime import UTC, datetime
from itertools import count

SECTOR, SHORT, CUT_OFF = 512, 64, 4096
END, FAT_SECTOR, NONE = 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFF
UNICODE, BINARY, INTEGER, TIME = 0x001F, 0x0102, 0x0003, 0x0040
EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def message(properties, recipients=(), attachments=()):
    """Return the bytes of a mail.

    Args:
        properties: values by number: text, bytes, int or a time with a zone.
        recipients: properties of each.
        attachments: properties of each.
    """
    root = {"__properties_version1.0": bytes(32) + entries(properties), **streams(properties)}
    for name, items in (("__recip_version1.0_", recipients), ("__attach_version1.0_", attachments)):
        for n, each in enumerate(items):
            root[f"{name}#{n:08X}"] = {"__properties_version1.0": bytes(8) + entries(each), **streams(each)}
    return compound_file(root)


def entries(properties):
    found = b""
    for number, value in properties.items():
        kind, payload = typed(value)
        found += struct.pack("<HHI", kind, number, 6) + payload[:8].ljust(8, b"\0")
    return found


def streams(properties):
    found = {}
    for number, value in properties.items():
        kind, payload = typed(value)
        if kind in (UNICODE, BINARY):
            found[f"__substg1.0_{number:04X}{kind:04X}"] = payload
    return found


def typed(value):
    if isinstance(value, str):
        return UNICODE, value.encode("utf-16-le")
    if isinstance(value, bytes):
        return BINARY, value
    if isinstance(value, datetime):
        return TIME, struct.pack("<Q", int((value - EPOCH).total_seconds() * 10_000_000))
    return INTEGER, struct.pack("<I", value)


def compound_file(root):
    """Return a compound file of a tree: a folder is a dict, a stream is bytes."""
    entries = [["Root Entry", 5, NONE, NONE, END, 0]]
    sectors, fat = [], []
    shorts, short_fat = [], []

    def add(data, size, parts, table):
        first = len(parts)
        for at in range(0, len(data), size):
            parts.append(data[at : at + size].ljust(size, b"\0"))
            table.append(len(parts))
        table[-1] = END
        return first

    def add_stream(data):
        if not data:
            return END
        return add(data, SHORT, shorts, short_fat) if len(data) < CUT_OFF else add(data, SECTOR, sectors, fat)

    def add_folder(at, folder):
        previous = None
        for name, item in folder.items():
            here = len(entries)
            is_stream = isinstance(item, bytes)
            first, size = (add_stream(item), len(item)) if is_stream else (0, 0)
            entries.append([name, 2 if is_stream else 1, NONE, NONE, first, size])
            entries[at if previous is None else previous][3 if previous is None else 2] = here
            previous = here
            if not is_stream:
                add_folder(here, item)

    add_folder(0, root)
    short_stream = b"".join(shorts)
    if short_stream:
        entries[0][4:] = add(short_stream, SECTOR, sectors, fat), len(short_stream)
    packed_fat = struct.pack(f"<{len(short_fat)}I", *short_fat)
    packed_fat += b"\xff" * (-len(packed_fat) % SECTOR)
    at_short_fat = add(packed_fat, SECTOR, sectors, fat) if packed_fat else END
    directory = b"".join(
        (name.encode("utf-16-le") + b"\0\0").ljust(64, b"\0")
        + struct.pack("<HBBIII", 2 * len(name) + 2, kind, 1, NONE, right, child)
        + bytes(36)
        + struct.pack("<IQ", first, size)
        for name, kind, right, child, first, size in entries
    )
    at_directory = add(directory, SECTOR, sectors, fat)
    n_fat = next(n for n in count(1) if (len(sectors) + n) * 4 <= n * SECTOR)
    at_fat = range(len(sectors), len(sectors) + n_fat)
    table = struct.pack(f"<{len(fat) + n_fat}I", *fat, *[FAT_SECTOR] * n_fat).ljust(n_fat * SECTOR, b"\xff")
    header = (
        bytes.fromhex("d0cf11e0a1b11ae1")
        + bytes(16)
        + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6)
        + bytes(6)
        + struct.pack("<IIIII", 0, n_fat, at_directory, 0, CUT_OFF)
        + struct.pack("<IIII", at_short_fat, len(packed_fat) // SECTOR, END, 0)
        + struct.pack(f"<{n_fat}I", *at_fat)
    ).ljust(SECTOR, b"\xff")
    return header + b"".join(sectors) + table
