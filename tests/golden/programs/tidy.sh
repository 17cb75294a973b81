# Links, moved folders, times that are set, a file that is cut short.
set -e
mkdir -p shelf
cp -p raw/west.csv shelf/saved.csv
ln shelf/saved.csv shelf/linked.csv
ln -s saved.csv shelf/symbolic.csv
cat shelf/symbolic.csv > shelf/read.csv
truncate -s 40 shelf/read.csv
touch -d '2026-01-01 12:00:00 UTC' shelf/read.csv
mv shelf archive
sort -u archive/read.csv > sorted.csv
