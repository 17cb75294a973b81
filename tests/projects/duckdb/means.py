"""The mean of each station, from the database."""
import duckdb

with duckdb.connect("obs.duckdb", read_only=True) as db:
    db.sql("SELECT station, avg(value) AS mean FROM obs GROUP BY station ORDER BY station").write_csv("means.csv")
