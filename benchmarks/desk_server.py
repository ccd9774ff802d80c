"""A server of a small shop's desk over stdio: fixed data, calls take a given time and overlap.

    python -m benchmarks.desk_server SECONDS [FILE]

While FILE exists, each call takes seven seconds more.
It uses only the standard library, so that it starts quickly. Revision 2026-07-28.
"""

from __future__ import annotations

import json
import sys
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks import plain_server

SLOW_S: Final = 7.0

READS: Final = {
    "get_order": ("Return an order with its items and its status.", "order_id"),
    "list_orders": ("List the orders of a customer.", "customer_id"),
    "get_customer": ("Return a customer's name, address and telephone number.", "customer_id"),
    "track_parcel": ("Say where a parcel is now.", "parcel_id"),
    "get_invoice": ("Return an invoice with its amounts.", "invoice_id"),
    "list_open_invoices": ("List the unpaid invoices of a customer.", "customer_id"),
    "get_stock": ("Say how many pieces of a product are in stock.", "product_id"),
    "get_product": ("Return the description and the price of a product.", "product_id"),
    "list_reviews": ("List what customers wrote about a product.", "product_id"),
    "get_shift": ("Say who works at the desk on a day.", "date"),
    "get_opening_hours": ("Return the opening hours of a shop.", "shop_id"),
    "list_returns": ("List the parcels that a customer sent back.", "customer_id"),
}
WRITES: Final = {
    "cancel_order": ("Cancel an order that was not sent yet.", "order_id"),
    "send_reminder": ("Send a reminder of an unpaid invoice.", "invoice_id"),
    "change_shift": ("Give a day at the desk to somebody else.", "date"),
}


def _describe_tool(name: str, description: str, parameter: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": {parameter: {"type": "string"}},
            "required": [parameter],
        },
        "annotations": {"readOnlyHint": name in READS, "openWorldHint": False},
    }


TOOLS: Final = [
    _describe_tool(name, description, parameter)
    for name, (description, parameter) in {**READS, **WRITES}.items()
]


def main() -> None:
    """Answer requests until stdin ends."""
    plain_server.serve(TOOLS, _answer_call, delay_s=float(sys.argv[1]))


def _answer_call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    if any(Path(file).exists() for file in sys.argv[2:]):
        time.sleep(SLOW_S)
    reference = f"REF-{zlib.crc32(json.dumps([name, arguments]).encode()):08x}"
    found = {"about": name, **arguments, "state": "as planned", "reference": reference}
    return {
        "content": [{"type": "text", "text": json.dumps(found)}],
        "structuredContent": found,
    }


if __name__ == "__main__":
    main()
