"""GETs with queries and headers by chance: a schema has nothing to vary where there is no input."""

import random
import string
from collections import Counter

from integration.serve_load.exchange import Answer, Reader
from integration.serve_load.server_process import ServerProcess

# Of everything that HTTP lets through, and a lot of it encoded.
QUERY = string.ascii_letters + string.digits + "-._~!$&'()*+,;=:@/?%"
VALUE = "".join(map(chr, [*range(0x20, 0x7F), *range(0xA0, 0x100)]))
NAMES = (
    "Accept",
    "Accept-Encoding",
    "Cookie",
    "Origin",
    "Referer",
    "Range",
    "If-None-Match",
    "X-A",
)
PIECES_OF_QUERY = (
    "%00",
    "%ff",
    "%ed%a0%80",
    "%",
    "%zz",
    "&&",
    "a[]=",
    "=",
    "%F0%9F%98%80",
    "..%2f",
)


def random_gets(server: ServerProcess, target: str, *, count: int, seed: int = 0) -> Counter[int]:
    """Send ``count`` requests on one connection after another; gives the answers by status."""
    chance = random.Random(f"{seed} {target}")
    statuses: Counter[int] = Counter()
    while sum(statuses.values()) < count:
        with server.connect() as connection:
            reader = Reader(connection)
            for _ in range(min(100, count - sum(statuses.values()))):
                connection.sendall(_request(target, chance))
                answer: Answer = reader.answer()
                statuses[answer.status] += 1
                if answer.headers.get("connection") == "close":
                    break
    return statuses


def _request(target: str, chance: random.Random) -> bytes:
    pieces = [
        chance.choice(PIECES_OF_QUERY) if chance.random() < 0.3 else _text(QUERY, chance)
        for _ in range(chance.randrange(5))
    ]
    query = "?" + "".join(pieces) if pieces else ""
    headers = {name: _text(VALUE, chance) for name in chance.sample(NAMES, chance.randrange(4))}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"GET {target}{query} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode("latin-1")


def _text(letters: str, chance: random.Random) -> str:
    return "".join(chance.choices(letters, k=chance.randrange(1, 40)))
