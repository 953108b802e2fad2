"""Events from Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from cepheid.engines.columnar.scan import ParquetFile
from cepheid.engines.local.arrow_types import as_declared, struct_of_arrow
from cepheid.engines.local.arrow_values import batch_rows, named
from cepheid.engines.local.events import Columns, check_columns
from cepheid.engines.local.open_files import explained
from cepheid.engines.local.reading import BATCH, Place, Row
from cepheid.pattern.types import Type


class ParquetReader:
    """A Parquet file, by record batches."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self.path = path
        self._columns = columns
        with explained(path), closing(self._open()) as file:
            self._struct = struct_of_arrow(file.schema_arrow)
            self._rows: int = file.metadata.num_rows
            groups = range(file.metadata.num_row_groups)
            rows = tuple(file.metadata.row_group(i).num_rows for i in groups)
            self.file = ParquetFile(path, file.schema_arrow, rows, file.metadata)
        check_columns([name for name, _ in self._struct.fields], columns)

    def struct(self) -> Type:
        return as_declared(self._struct, self._columns)

    def rows(self) -> Iterator[tuple[Row, int]]:
        size, number = self.path.stat().st_size, 0
        with closing(self._open()) as file:
            for batch in named(file.iter_batches(BATCH)):
                for values in batch_rows(batch):
                    number += 1
                    place = Place(str(self.path), number, "row")
                    yield Row(place, values), size * number // self._rows

    def _open(self) -> Any:
        from pyarrow import parquet

        return parquet.ParquetFile(self.path)
