"""The words of the support tickets: the same count and seed give the same tickets everywhere.

Pure: no file, no clock. Draws only ``Random.random()``, the one method whose sequence Python
promises to keep from version to version.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

_T = TypeVar("_T")

Row = tuple[int, str, str, str, str, str]
"""id, subject, status, customer, created_at, body."""

_FIRST_DAY = datetime(2025, 1, 6, 8, 0)
_MEAN_GAP_MINUTES = 40

_FIRST_NAMES = (
    "Amara", "Björn", "Chiara", "Dmitri", "Esther", "Farid", "Greta", "Hana", "Ivo", "Jamila",
    "Kofi", "Lena", "Mateo", "Noor", "Olga", "Priya", "Quentin", "Rosa", "Sven", "Tomás",
    "Uma", "Viktor", "Wanjiru", "Xin", "Yusuf", "Zoë",
)  # fmt: skip
_LAST_NAMES = (
    "Okafor", "Lindqvist", "Moretti", "Sokolov", "Weiss", "Haddad", "Nilsen", "Tanaka", "Petrov",
    "Diallo", "Mensah", "Fischer", "García", "Rahman", "Novak", "Sharma", "Laurent", "Silva",
    "Berg", "Herrera", "Iyer", "Kovacs", "Njoroge", "Chen", "Demir", "Jansen",
)  # fmt: skip

_WORDS: dict[str, Sequence[str]] = {
    "product": (
        "espresso machine", "standing desk", "noise-cancelling headphones", "rain jacket",
        "trail shoes", "robot vacuum", "e-reader", "mechanical keyboard", "bike light", "backpack",
    ),
    "plan": ("Starter", "Team", "Business", "Enterprise"),
    "browser": ("Firefox", "Chrome", "Safari", "Edge"),
    "carrier": ("the courier", "the parcel shop", "the freight company", "the postal service"),
    "city": ("Porto", "Gdańsk", "Nairobi", "Osaka", "Leeds", "Rosario", "Tallinn", "Pune"),
    "device": ("my phone", "my laptop", "the office tablet", "a new computer"),
    "role": ("our accountant", "my manager", "a colleague", "the warehouse team"),
    "field": ("the customer id", "the timestamp", "the line items", "the currency"),
}  # fmt: skip

# Subjects, then what happened, then what was tried: one of each makes a ticket of that topic.
_TOPICS: tuple[tuple[Sequence[str], Sequence[str], Sequence[str]], ...] = (
    (
        (
            "Refund for order {order} has not arrived",
            "Refund is {amount} EUR short",
            "When will my refund be paid out?",
        ),
        (
            "I returned the {product} {days} days ago and the refund of {amount} EUR is missing.",
            "The return of the {product} was confirmed, but my card shows no refund so far.",
            "You refunded the {product} without the shipping fee of {amount} EUR.",
        ),
        (
            "My bank in {city} says that no payment is on its way.",
            "The return label was scanned by {carrier}, I have the receipt.",
        ),
    ),
    (
        (
            "Cannot log in after password reset",
            "Login code never arrives",
            "Account locked after {days} attempts",
        ),
        (
            "After I reset my password the login page in {browser} only reloads.",
            "The six-digit login code does not arrive on {device}.",
            "My account is locked and the unlock link says that it has expired.",
        ),
        (
            "I cleared the cookies and tried {browser} as well.",
            "It works for {role}, who is on the same network.",
        ),
    ),
    (
        (
            "Invoice {order} shows the wrong VAT number",
            "Charged twice for the {plan} plan",
            "Invoice missing for last month",
        ),
        (
            "Our invoice for the {plan} plan lists {amount} EUR, we agreed on less.",
            "The card was charged {amount} EUR twice within {days} minutes.",
            "The invoice carries our old address in {city} and the wrong VAT number.",
        ),
        (
            "We need a corrected invoice before {role} can close the books.",
            "The billing page shows only one payment.",
        ),
    ),
    (
        (
            "Parcel {order} stuck in {city}",
            "Delivered to the wrong address",
            "Package arrived damaged",
        ),
        (
            "The tracking of order {order} has not moved for {days} days.",
            "Tracking says delivered, but nobody here has seen the {product}.",
            "The box was crushed and the {product} has a crack on one side.",
        ),
        (
            "I called {carrier} and was sent back to you.",
            "I can send photos of the parcel and the label.",
        ),
    ),
    (
        (
            "API returns 429 below the documented limit",
            "Webhook delivers events twice",
            "API timeout on export of {amount} records",
        ),
        (
            "Since the last release the API answers 429 after {days} requests per minute.",
            "Every order webhook arrives twice with the same id and {field} differs.",
            "The export endpoint runs into a timeout when we ask for more than {amount} records.",
        ),
        (
            "Retrying with backoff does not help, the logs are attached.",
            "The same request works with a key of the {plan} plan.",
        ),
    ),
    (
        (
            "Downgrade from {plan} is not possible",
            "Cancel the {plan} subscription",
            "Trial ended earlier than announced",
        ),
        (
            "The button to cancel the {plan} plan is greyed out in {browser}.",
            "Our {plan} trial ended after {days} days instead of thirty.",
            "We want to downgrade from {plan} at the end of the month and keep our data.",
        ),
        (
            "Please confirm by mail that no further {amount} EUR will be charged.",
            "The help page describes a menu that does not exist for {role}.",
        ),
    ),
    (
        (
            "{product} does not switch on",
            "Warranty claim for order {order}",
            "Spare part for the {product}",
        ),
        (
            "The {product} stopped working after {days} days of normal use.",
            "The {product} makes a loud noise and gets hot after a few minutes.",
            "A part of the {product} broke off and the shop does not list it.",
        ),
        (
            "I followed the manual and did a factory reset twice.",
            "The warranty card is signed by the shop in {city}.",
        ),
    ),
    (
        (
            "App crashes when opening a report",
            "Dashboard is slow since the update",
            "Search finds nothing in {browser}",
        ),
        (
            "The app on {device} crashes as soon as I open a report of {days} pages.",
            "The dashboard needs {days} seconds to load since the update of last week.",
            "Search in {browser} returns no results, although {field} is right there in the list.",
        ),
        (
            "Restarting {device} helps for an hour.",
            "{browser} shows the same, so it is not the browser.",
        ),
    ),
)

_CLOSINGS = (
    "Please reply before the end of the week.",
    "I am happy to give you more details by phone.",
    "This is the second time that I write about it.",
    "Thank you for looking into this.",
    "It is urgent for us, {role} is waiting.",
)


def tickets(count: int, seed: int) -> Iterator[Row]:
    """Yield ``count`` tickets, numbered from 1 in the order in which they came in."""
    draw = random.Random(seed).random
    created = _FIRST_DAY
    for number in range(1, count + 1):
        created += timedelta(minutes=1 + int(draw() * 2 * _MEAN_GAP_MINUTES))
        subjects, events, attempts = _pick(draw, _TOPICS)
        words = {name: _pick(draw, choices) for name, choices in _WORDS.items()}
        words["order"] = f"A-{100_000 + int(draw() * 900_000)}"
        words["amount"] = str(5 + int(draw() * 995))
        words["days"] = str(2 + int(draw() * 28))
        subject = _pick(draw, subjects).format_map(words)
        subject = subject[0].upper() + subject[1:]
        sentences = [_pick(draw, part) for part in (events, attempts, _CLOSINGS)]
        if draw() < 0.5:  # half of the customers mention something else as well
            sentences.insert(2, "Also: " + _pick(draw, _pick(draw, _TOPICS)[1]))
        body = " ".join(sentences).format_map(words)
        customer = f"{_pick(draw, _FIRST_NAMES)} {_pick(draw, _LAST_NAMES)}"
        yield number, subject, _status(draw()), customer, f"{created:%Y-%m-%dT%H:%M:%SZ}", body


def _status(share: float) -> str:
    return "open" if share < 0.25 else "pending" if share < 0.4 else "closed"


def _pick(draw: Callable[[], float], choices: Sequence[_T]) -> _T:
    return choices[int(draw() * len(choices))]
