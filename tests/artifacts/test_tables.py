"""Tables keep every string as a string."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import DataError
from pipeline.submission import (
    read_table,
    write_table,
)

any_text = st.text(st.characters(exclude_categories=()), max_size=8)


AWKWARD = ["NA", "null", "None", "nan", "007", "1e5", "TRUE", "-", "", " 松果 ", '"云杉"', "a,b", "a\rb", "a\nb", "\\n"]


def test_a_table_keeps_every_string_as_a_string(tmp_path: Path) -> None:
    write_table(tmp_path / "t.csv", pd.DataFrame({"candidates": AWKWARD, "score": range(len(AWKWARD))}))
    table = read_table(tmp_path / "t.csv")
    assert table["candidates"].tolist() == AWKWARD
    assert [str(dtype) for dtype in table.dtypes] == ["str", "str"]


@settings(deadline=None)  # the disk may be slow
@given(st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=6)))
def test_a_table_of_any_text_survives_saving_and_loading(column: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        write_table(path, pd.DataFrame({"candidates": pd.Series(column, dtype="str")}))
        table = read_table(path)
    assert table["candidates"].tolist() == column
    assert str(table["candidates"].dtype) == "str"


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2,3,4\n1\n1,2,3,4,5\n", b"a\n\xff\n"])
def test_what_is_no_table_is_a_data_error(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DataError, match=r"t\.csv: not a CSV table \("):
        read_table(tmp_path / "t.csv")
    with pytest.raises(DataError, match="cannot be read"):
        read_table(tmp_path / "none.csv")
