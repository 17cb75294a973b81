# A table is sorted, joined with another, copied, moved, appended to, and what was only needed meanwhile is removed.
set -e
sort -n raw/west.csv | uniq > west.csv
cp west.csv backup.csv
mv backup.csv kept.csv
cat west.csv stations.csv > joined.csv
wc -l < joined.csv > scratch
cat scratch >> log.txt
rm scratch
