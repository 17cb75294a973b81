.mode csv
SELECT station, avg(value) FROM obs GROUP BY station ORDER BY station;
