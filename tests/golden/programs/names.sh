# Files whose names would rather be something else.
set -e
mkdir -p names
cat stations.csv > 'names/two words.csv'
sort 'names/two words.csv' > $'names/line\nend.csv'
cat $'names/line\nend.csv' > $'names/\xff\xfe.bin'
cat $'names/\xff\xfe.bin' > 'names/=1+1.csv'
cat 'names/=1+1.csv' > 'names/été <b>&"#?%41.txt'
