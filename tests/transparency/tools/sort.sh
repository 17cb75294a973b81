# needs: ls coreutils
# also: call
# reads: in
# writes: out merged in-place
# A sort whose memory is too small for its input: many temporary files, deleted while they are open; threads.
set -eu
mkdir t
seq 1 60000 | awk '{ print ($1 * 7919) % 60013, $1 }' >in
sort -S 64k -T t --batch-size=4 in >out
sort -S 64k -T t --parallel=4 -n in -o numeric
cp in in-place
sort -S 64k -T t -n -o in-place in-place
cmp in-place numeric
sort -S 64k -T t --compress-program=gzip -k2,2n in >by-second
split -n l/6 numeric s-
sort -m -n s-* >merged
cmp merged numeric
sort -S 64k -T t -u -k1,1n in | wc -l
ls -A t
sort -c in || echo "sort ended with $?"
sort -n in | head -1
