"""Where a request begins and ends: lengths, chunks, first lines, pipelines, slow clients.

Where garbage follows a right request, a server may refuse the connection before it answers.
"""

import json

from integration.serve_load.cases.case import CLOSED, MARKER, Case, get, post, raw

M = MARKER.encode()
BODY = json.dumps({"input": f"{MARKER} sat"}).encode()
START = (
    b"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nX-Note: %s\r\n" % M
    + b"Content-Type: application/json\r\n"
)
CHUNKED = START + b"Transfer-Encoding: chunked\r\n"
WHOLE_CHUNK = b"%x\r\n%s\r\n" % (len(BODY), BODY)
LAST = b"0\r\n\r\n"
LARGE_CHUNK = b"100000\r\n%s\r\n" % (b" " * 0x100000)
GOOD = post(BODY)
BAD = (400, CLOSED)
TLS = bytes.fromhex("16030100c8010000c40303") + b"\x00" * 60 + M


def _length(*values: bytes, body: bytes = BODY) -> bytes:
    return START + b"".join(b"Content-Length: %s\r\n" % one for one in values) + b"\r\n" + body


SIZE = b"%d" % len(BODY)
LENGTHS: list[Case] = [
    raw("negative length", _length(b"-1"), right=400),
    raw("length with a plus", _length(b"+" + SIZE), right=400),
    raw("length in words", _length(M), right=400),
    raw("empty length", _length(b""), right=(400, 422)),
    raw("length in hexadecimal", _length(b"0x20"), right=400),
    raw("length with a point", _length(SIZE + b".0"), right=400),
    raw("length with a space inside", _length(b"1 1"), right=400),
    raw("length in other digits", _length("٣".encode()), right=400),
    raw("huge length", _length(b"9" * 30), right=400),
    raw("length of 64 bits", _length(b"18446744073709551615"), right=(400, 413)),
    raw("length beyond 64 bits", _length(b"18446744073709551616"), right=400),
    raw("length that is too large", _length(b"99999999999"), right=413),
    raw("two lengths alike", _length(SIZE, SIZE), right=400),
    raw("two lengths that differ", _length(SIZE, b"1"), right=400),
    raw("list of lengths", _length(SIZE + b", " + SIZE), right=400),
    raw("leading zeros", _length(b"000" + SIZE), right=200),
    raw("no length", START + b"\r\n", right=400),
    raw("length that is too small", _length(b"3"), right=400),
    raw(
        "length that is too large by one",
        _length(b"%d" % (len(BODY) + 1)),
        right=BAD,
        end="half close",
    ),
    raw("body of four mebibytes", _length(b"4194305", body=b" " * 4194305), right=413),
    raw("body on a GET", get("/livez", headers=b"Content-Length: 9\r\n") + M, right=200),
]

CODINGS: list[Case] = [
    raw(
        "length and chunks",
        _length(SIZE)[: -len(BODY) - 2]
        + b"Transfer-Encoding: chunked\r\n\r\n"
        + WHOLE_CHUNK
        + LAST,
        right=400,
    ),
    raw(
        "chunks and a length",
        CHUNKED + b"Content-Length: 3\r\n\r\n" + WHOLE_CHUNK + LAST,
        right=400,
    ),
    raw(
        "chunks twice",
        CHUNKED + b"Transfer-Encoding: chunked\r\n\r\n" + WHOLE_CHUNK + LAST,
        right=(200, 400),
    ),
    raw(
        "identity",
        START + b"Transfer-Encoding: identity\r\nContent-Length: %s\r\n\r\n" % SIZE + BODY,
        right=(200, 400),
    ),
    raw(
        "gzip of a transfer",
        START + b"Transfer-Encoding: gzip\r\n\r\n" + WHOLE_CHUNK + LAST,
        right=400,
    ),
    raw(
        "gzip and chunks",
        START + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + WHOLE_CHUNK + LAST,
        right=(200, 400, 501),
    ),
    raw(
        "chunks and gzip",
        START + b"Transfer-Encoding: chunked, gzip\r\n\r\n" + WHOLE_CHUNK + LAST,
        right=400,
    ),
    raw(
        "unknown coding",
        START + b"Transfer-Encoding: %s\r\n\r\n" % M + WHOLE_CHUNK + LAST,
        right=400,
    ),
    raw(
        "coding that is nearly chunked",
        START + b"Transfer-Encoding: xchunked\r\n\r\n" + WHOLE_CHUNK + LAST,
        right=400,
    ),
    raw(
        "coding behind a tab",
        START + b"Transfer-Encoding:\tchunked\r\n\r\n" + WHOLE_CHUNK + LAST,
        right=(200, 400),
    ),
    raw(
        "coding in capitals",
        START + b"Transfer-Encoding: CHUNKED\r\n\r\n" + WHOLE_CHUNK + LAST,
        right=200,
    ),
    raw(
        "folded coding",
        START + b"Transfer-Encoding:\r\n chunked\r\n\r\n" + WHOLE_CHUNK + LAST,
        right=(200, 400),
    ),
    raw(
        "chunks in HTTP/1.0",
        (CHUNKED + b"\r\n" + WHOLE_CHUNK + LAST).replace(b"HTTP/1.1", b"HTTP/1.0"),
        right=(200, 400),
    ),
]

_OPEN = CHUNKED + b"\r\n"
CHUNKS: list[Case] = [
    raw("one chunk", _OPEN + WHOLE_CHUNK + LAST, right=200),
    raw(
        "chunks of one byte",
        _OPEN + b"".join(b"1\r\n%c\r\n" % byte for byte in BODY) + LAST,
        right=200,
    ),
    raw(
        "size in capitals and zeros",
        _OPEN + b"000%X\r\n%s\r\n" % (len(BODY), BODY) + LAST,
        right=200,
    ),
    raw("no chunks", _OPEN + LAST, right=400),
    raw("empty size", _OPEN + b"\r\n" + BODY + b"\r\n" + LAST, right=400),
    raw("size in words", _OPEN + M + b"\r\n" + BODY + b"\r\n" + LAST, right=400),
    raw("negative size", _OPEN + b"-1\r\n" + BODY + b"\r\n" + LAST, right=400),
    raw("size with 0x", _OPEN + b"0x5\r\nabcde\r\n" + LAST, right=400),
    raw("huge size", _OPEN + b"F" * 17 + b"\r\n" + BODY, right=400),
    raw("size of 64 bits", _OPEN + b"F" * 16 + b"\r\n" + BODY, right=BAD, end="half close"),
    raw("size that is too small", _OPEN + b"2\r\n" + BODY + b"\r\n" + LAST, right=400),
    raw(
        "size that is too large",
        _OPEN + b"FF\r\n" + BODY + b"\r\n" + LAST,
        right=BAD,
        end="half close",
    ),
    raw("no line end after a chunk", _OPEN + b"%x\r\n%s" % (len(BODY), BODY) + LAST, right=400),
    raw(
        "chunks without returns",
        _OPEN + (WHOLE_CHUNK + LAST).replace(b"\r\n", b"\n"),
        right=(200, 400),
    ),
    raw(
        "extension",
        _OPEN + WHOLE_CHUNK.replace(b"\r\n", b';a="%s"\r\n' % M, 1) + LAST,
        right=(200, 400),
    ),
    raw(
        "long extension",
        _OPEN + WHOLE_CHUNK.replace(b"\r\n", b";%s\r\n" % (M * 3000), 1) + LAST,
        right=(200, 400, 413, 431),
    ),
    raw("trailer", _OPEN + WHOLE_CHUNK + b"0\r\nX-Note: %s\r\n\r\n" % M, right=200),
    raw(
        "trailer with a length",
        _OPEN + WHOLE_CHUNK + b"0\r\nContent-Length: 9\r\n\r\n",
        right=(200, 400),
    ),
    raw("broken trailer", _OPEN + WHOLE_CHUNK + b"0\r\n%s\r\n\r\n" % M, right=(200, 400)),
    raw("too large in chunks", _OPEN + LARGE_CHUNK * 5 + LAST, right=413),
    raw("no last chunk", _OPEN + WHOLE_CHUNK, right=BAD, end="half close"),
    raw("garbage behind", _OPEN + WHOLE_CHUNK + LAST + M + b"\r\n\r\n", right=(200, 400)),
]

LINES: list[Case] = [
    raw("old version", GOOD.replace(b"HTTP/1.1", b"HTTP/1.0"), right=200),
    raw("HTTP/0.9", b"GET /%s\r\n" % M, right=BAD, end="half close"),
    raw(
        "HTTP/0.9 in a version",
        get("/livez").replace(b"HTTP/1.1", b"HTTP/0.9"),
        right=(200, 400, 505),
    ),
    raw("HTTP/2.0", get("/livez").replace(b"HTTP/1.1", b"HTTP/2.0"), right=(200, 400, 505)),
    raw("HTTP/1.9", get("/livez").replace(b"HTTP/1.1", b"HTTP/1.9"), right=(200, 400, 505)),
    raw("HTTP/9.9", get("/livez").replace(b"HTTP/1.1", b"HTTP/9.9"), right=400),
    raw("version with three parts", get("/livez").replace(b"HTTP/1.1", b"HTTP/1.1.1"), right=400),
    raw("version in small letters", get("/livez").replace(b"HTTP/1.1", b"http/1.1"), right=400),
    raw("version in words", get("/livez").replace(b"HTTP/1.1", M), right=400),
    raw("another protocol", get("/livez").replace(b"HTTP/1.1", b"RTSP/1.0"), right=(200, 400)),
    raw("preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + M, right=400),
    raw("method in small letters", get("/livez", method=b"get"), right=400),
    raw("unknown method", get("/livez", method=M), right=400),
    raw("long method", get("/livez", method=M * 2000), right=400),
    raw("no method", get("/livez", method=b""), right=400),
    raw("method with odd characters", get("/livez", method=b"G\xc3\x8bT"), right=400),
    *[
        raw(f"method {one.decode()}", get("/v1/models", method=one), right=405)
        for one in (
            b"PUT",
            b"DELETE",
            b"PATCH",
            b"POST",
            b"OPTIONS",
            b"TRACE",
            b"PROPFIND",
            b"PURGE",
        )
    ],
    raw("method of a tunnel", get("localhost:80", method=b"CONNECT"), right=(400, 404, 405)),
    raw("tunnel to a path", get("/v1/models", method=b"CONNECT"), right=(400, 404, 405)),
    raw("no target", b"GET  HTTP/1.1\r\nX-Note: %s\r\n\r\n" % M, right=400),
    raw("two spaces", get("/livez").replace(b"GET ", b"GET  "), right=(200, 400)),
    raw("tab between", get("/livez").replace(b"GET ", b"GET\t"), right=400),
    raw("space in the target", get("/li vez"), right=400),
    raw(
        "space behind the version",
        get("/livez").replace(b"HTTP/1.1", b"HTTP/1.1 "),
        right=(200, 400),
    ),
    raw("empty lines before", b"\r\n\r\n" + GOOD, right=200),
    raw("space before", b" " + GOOD, right=400),
    raw("return before", b"\r" + GOOD, right=(200, 400)),
    raw("byte order mark before", b"\xef\xbb\xbf" + GOOD, right=400),
    raw("NULs", b"\0" * 100 + M, right=400),
    raw("every byte", bytes(range(256)) + M, right=400),
    raw("bytes beyond ASCII", b"\xff" * 1000 + M, right=400),
    raw("a client of TLS", TLS, right=400),
    raw("a client of SSH", b"SSH-2.0-OpenSSH_9.9 %s\r\n" % M, right=400),
    raw("a client of mail", b"EHLO %s\r\n" % M, right=400),
    raw("a client of Redis", b"*1\r\n$4\r\nPING\r\n%s" % M, right=400),
    raw("JSON without HTTP", BODY + b"\r\n\r\n", right=400),
    raw("an answer", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n" + M, right=400),
    raw("long line without end", b"GET /" + M * 20_000, right=(400, 431)),
    raw("letters without end", b"A" * 200_000 + M, right=(400, 431)),
]

PIPELINES: list[Case] = [
    raw("two requests at once", GOOD + GOOD, right=200, answers=2),
    raw("fifty requests at once", get("/livez") * 50, right=200, answers=50),
    raw("twenty bodies at once", GOOD * 20, right=200, answers=20),
    raw("a right and a wrong one", get("/livez") + M + b"\r\n\r\n", right=(200, 400)),
    raw("a wrong one between", get("/livez") + post(b"{") + get("/livez"), right=200, answers=3),
    raw("a request inside a body", post(get("/metrics")), right=400),
    raw("requests after the last", get("/livez", headers=b"Connection: close\r\n") * 3, right=200),
]

WAITING: list[Case] = [
    raw(
        "continue is awaited",
        START + b"Expect: 100-continue\r\nContent-Length: %s\r\n\r\n" % SIZE,
        0.05,
        BODY,
        right=200,
    ),
    raw(
        "continue is not awaited",
        START + b"Expect: 100-continue\r\nContent-Length: %s\r\n\r\n" % SIZE + BODY,
        right=200,
    ),
    raw("continue for nothing", get("/livez", headers=b"Expect: 100-continue\r\n"), right=200),
    raw(
        "continue for too much",
        START + b"Expect: 100-continue\r\nContent-Length: 9999999999\r\n\r\n",
        right=413,
    ),
    raw(
        "continue and gone",
        START + b"Expect: 100-continue\r\nContent-Length: %s\r\n\r\n" % SIZE,
        right=CLOSED,
        end="close",
    ),
    raw(
        "one byte at a time", *[part for byte in GOOD for part in (bytes([byte]), 0.002)], right=200
    ),
    raw(
        "one byte of a head at a time",
        *[part for byte in get("/livez") for part in (bytes([byte]), 0.002)],
        right=200,
    ),
    raw(
        "one byte of nonsense at a time",
        *[part for byte in M * 3 for part in (bytes([byte]), 0.005)],
        right=BAD,
    ),
    raw("head, then body", GOOD[: -len(BODY)], 0.3, BODY, right=200),
    raw("body in two parts", GOOD[:-5], 0.3, GOOD[-5:], right=200),
    raw(
        "cut within a line end",
        GOOD.partition(b"\r\n\r\n")[0] + b"\r",
        0.1,
        b"\n\r",
        0.1,
        b"\n" + BODY,
        right=200,
    ),
    raw(
        "chunks that come slowly",
        _OPEN,
        0.1,
        WHOLE_CHUNK[:9],
        0.1,
        WHOLE_CHUNK[9:],
        0.1,
        LAST,
        right=200,
    ),
    raw("half closed after a request", GOOD, right=(200, CLOSED), end="half close"),
    raw("half closed within a head", GOOD[:70], right=BAD, end="half close"),
    raw("half closed within a body", GOOD[:-5], right=BAD, end="half close"),
    raw("half closed at once", b"", right=CLOSED, end="half close"),
    raw("gone after a request", GOOD, right=CLOSED, end="close"),
    raw("gone within a head", GOOD[:70], right=CLOSED, end="close"),
    raw("gone within a body", GOOD[:-5], right=CLOSED, end="close"),
    raw("gone within a chunk", _OPEN + WHOLE_CHUNK[:9], right=CLOSED, end="close"),
    raw("reset after a request", GOOD, right=CLOSED, end="reset"),
    raw("reset within a body", GOOD[:-5], right=CLOSED, end="reset"),
    raw(
        "reset within a large body",
        _length(b"4000000", body=b" " * 2_000_000),
        right=CLOSED,
        end="reset",
    ),
    raw("reset before anything", b"", right=CLOSED, end="reset"),
    raw("many asked and gone", GOOD * 30, right=CLOSED, end="reset"),
    raw(
        "large answer and gone",
        post(json.dumps({"input": [[MARKER] * 1000] * 8, "layers": "all"}), path="/v1/tokens"),
        0.05,
        right=CLOSED,
        end="reset",
    ),
]

FRAMING: list[Case] = [*LENGTHS, *CODINGS, *CHUNKS, *LINES, *PIPELINES, *WAITING]
"""All of them."""
