"""The mean of each day, from Parquet."""
import duckdb

duckdb.sql("SELECT day, avg(value) AS mean FROM 'obs.parquet' GROUP BY day ORDER BY day").write_csv("days.csv")
