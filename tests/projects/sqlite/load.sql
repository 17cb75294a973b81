DROP TABLE IF EXISTS obs;
CREATE TABLE obs (station TEXT, value REAL);
.mode csv
.import obs.csv obs
