"""One shard of a folder of vectors: a Parquet file whose rows know where they come from."""

import json
from pathlib import Path
from typing import Any

from elmokit.embed.parquet_writer import ParquetWriter, load_pyarrow
from elmokit.embed.text_pieces import TextPiece

# What the file says of itself beside its rows, under this key.
FACTS_KEY = b"elmokit"


class ShardWriter(ParquetWriter):
    """The columns of a `ParquetWriter` behind ``id`` and ``source``.

    ``index`` counts the lines of the source as in a file of its own, ``id`` those of all sources.
    """

    def __init__(self, path: Path, piece: TextPiece) -> None:
        super().__init__(path)
        self._piece = piece
        self._count = piece.first_index

    def _open(self, vectors_type: Any) -> None:
        arrow = self._arrow
        import pyarrow.parquet

        schema = arrow.schema(
            {
                "id": arrow.int64(),
                "source": arrow.string(),
                "index": arrow.int64(),
                "text": arrow.string(),
                "tokens": arrow.list_(arrow.string()),
                "vectors": vectors_type,
            }
        )
        self._writer = _WithIds(
            pyarrow.parquet.ParquetWriter(
                self._path,
                schema,
                use_dictionary=["source", "tokens.list.element"],
                compression=dict.fromkeys(["source", "text", "tokens.list.element"], "snappy"),
                write_statistics=["id", "source", "index"],
            ),
            self._piece,
        )

    def finish_with(self, tokens: int) -> None:
        """Write what comes last, and what the shard is."""
        self.finish()
        self._writer.say({**facts_of(self._piece), "tokens": tokens})


class _WithIds:
    """Puts ids and the source in front of the columns that a `ParquetWriter` makes."""

    def __init__(self, opened: Any, piece: TextPiece) -> None:
        self._opened = opened
        self._piece = piece
        self._arrow = load_pyarrow()
        self.schema = self._arrow.schema(list(opened.schema)[2:])

    def write_table(self, table: Any) -> None:
        arrow, piece = self._arrow, self._piece
        first = piece.first_id - piece.first_index + table.column("index")[0].as_py()
        columns = [
            arrow.array(range(first, first + len(table)), arrow.int64()),
            arrow.array([piece.source] * len(table), arrow.string()),
            *table.columns,
        ]
        self._opened.write_table(arrow.Table.from_arrays(columns, schema=self._opened.schema))

    def say(self, facts: dict[str, Any]) -> None:
        self._opened.add_key_value_metadata({FACTS_KEY: json.dumps(facts)})

    def close(self) -> None:
        self._opened.close()


def facts_of(piece: TextPiece) -> dict[str, Any]:
    """Say which lines a shard has."""
    return {"source": piece.source, "first_index": piece.first_index, "lines": piece.lines}


def shard_tokens(file: Path, piece: TextPiece) -> int | None:
    """Count the tokens of a shard; None where there is none, or one that is not whole."""
    import pyarrow
    import pyarrow.parquet

    if not file.is_file():
        return None
    try:
        with pyarrow.parquet.ParquetFile(file) as opened:
            found = opened.metadata
            facts = json.loads((found.metadata or {}).get(FACTS_KEY, b"null"))
    except (OSError, ValueError, pyarrow.ArrowException):
        return None
    if not isinstance(facts, dict) or found.num_rows != piece.lines:
        return None
    tokens = facts.pop("tokens", None)
    return tokens if facts == facts_of(piece) and isinstance(tokens, int) else None
