"""Writes the files beside it: python3 make.py, with pandas, pyarrow and duckdb."""
import datetime
import decimal
import uuid

import duckdb
import pandas
import pyarrow
import pyarrow.feather

N = 90

# As pandas writes a frame: Parquet with snappy, whole numbers with nulls as doubles, a category as a dictionary.
frame = pandas.DataFrame(
    {
        "id": range(N),
        "name": [None if i % 7 == 3 else f"name {i}" for i in range(N)],
        "score": [i / 4 for i in range(N)],
        "visits": [None if i % 5 == 0 else i for i in range(N)],
        "at": pandas.date_range("2026-01-01", periods=N, freq="1h", tz="UTC"),
        "kind": pandas.Categorical(["old" if i % 2 else "new" for i in range(N)]),
        "tags": [[f"tag {j}" for j in range(i % 3)] for i in range(N)],
    }
)
frame.to_parquet("pandas.parquet")
frame.head(0).astype({"kind": "str"}).to_parquet("empty.parquet")

# Every other type, by pyarrow, in Arrow's file format with zstd.
table = pyarrow.table(
    {
        "id": pyarrow.array([uuid.UUID(int=i + 1).bytes for i in range(N)], pyarrow.binary(16)),
        "tiny": pyarrow.array([i - 45 for i in range(N)], pyarrow.int8()),
        "small": pyarrow.array([i * 300 for i in range(N)], pyarrow.int16()),
        "big": pyarrow.array([i * 10**7 for i in range(N)], pyarrow.uint32()),
        "ratio": pyarrow.array([i / 2 for i in range(N)], pyarrow.float32()),
        "price": pyarrow.array([decimal.Decimal(i) / 100 for i in range(N)], pyarrow.decimal128(12, 2)),
        "raw": pyarrow.array([bytes([i, 0, 255]) for i in range(N)], pyarrow.large_binary()),
        "ok": pyarrow.array([None if i == 4 else i % 2 == 0 for i in range(N)], pyarrow.bool_()),
        "day": pyarrow.array([datetime.date(1969, 12, 1) + datetime.timedelta(i) for i in range(N)], pyarrow.date32()),
        "clock": pyarrow.array([i * 10**9 for i in range(N)], pyarrow.time64("ns")),
        "host": pyarrow.array([f"10.0.0.{i}" if i % 2 else f"2001:db8::{i}" for i in range(N)]),
        "counts": pyarrow.array([[("a", i), ("b", -i)] for i in range(N)], pyarrow.map_(pyarrow.string(), pyarrow.int32())),
        "place": pyarrow.array(
            [{"lat": i / 8, "label": None if i % 3 else f"place {i}"} for i in range(N)],
            pyarrow.struct([("lat", pyarrow.float64()), ("label", pyarrow.string())]),
        ),
        "span": pyarrow.array([(i, i % 28, i * 1000) for i in range(N)], pyarrow.month_day_nano_interval()),
        "vec": pyarrow.array([[i, 0.5, -i] for i in range(N)], pyarrow.list_(pyarrow.float32(), 3)),
        "nothing": pyarrow.nulls(N),
    }
)
pyarrow.feather.write_feather(table, "types.arrow", compression="zstd")

# Inserts and reads in one order, with what must come back: Parquet by DuckDB. Every second row that is counted is there.
duckdb.sql(
    f"""COPY (SELECT ['insert', 'select', 'count'][i % 3 + 1] AS statement,
                     'p' || i % 10 AS pk, CASE WHEN i % 6 = 2 THEN i - 1 ELSE i END AS ck, i * 2.0::DOUBLE AS v, i * 3 AS w,
                     CASE WHEN i % 3 = 2 THEN i % 2 = 0 ELSE NULL END::INTEGER AS "expect.rows",
                     CASE WHEN i % 3 = 1 THEN i * 3 ELSE NULL END::BIGINT AS "expect.w"
              FROM range({N}) t(i)) TO 'mixed.parquet' (FORMAT parquet)"""
)

# Rows of nine partitions, which are loaded before they are read: Feather with LZ4, as pandas writes it.
rows = pandas.DataFrame({"pk": [f"p{i % 9}" for i in range(N)], "ck": range(N), "v": [i * 0.5 for i in range(N)]})
rows.to_feather("partitions.feather")
