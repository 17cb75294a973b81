#!/bin/sh
# All stations in one table, without comments and gaps.
echo station,day,value > clean.csv
for file in raw/*.txt; do
    grep -v '^#' "$file" | grep -v nan | awk -v station="$(basename "$file" .txt)" '{ print station "," $1 "," $2 }'
done >> clean.csv
