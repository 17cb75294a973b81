"""Loads the observations into a database, and writes them as Parquet."""
import duckdb

with duckdb.connect("obs.duckdb") as db:
    db.sql("CREATE OR REPLACE TABLE obs AS SELECT * FROM read_csv('obs.csv')")
    db.sql("COPY obs TO 'obs.parquet' (FORMAT parquet)")
