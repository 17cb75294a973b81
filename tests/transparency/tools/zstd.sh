# needs: zstd zstd
# reads: text text.zst
# writes: text.zst again
# zstd with threads, dictionaries, sparse output, a stream in several frames, damage.
set -u
umask 022
seq 1 100000 >text
zstd -q text -o text.zst
zstd -q -T4 --long text -o threads.zst
zstd -qd text.zst -o again
cmp text again
zstd -qdc threads.zst | cmp - text
mkdir small && for i in $(seq 1 200); do echo "{\"row\": $i, \"name\": \"a name $((i * 7))\"}" >small/$i; done
zstd -q --train small/* -o dictionary --maxdict=4096
zstd -q -D dictionary small/7 -o with.zst && zstd -qdc -D dictionary with.zst
cat text.zst threads.zst | zstd -qdc | wc -l
truncate -s 4M sparse && zstd -q sparse && rm sparse && zstd -qd --sparse sparse.zst && stat -c %s sparse
head -c 1000 text.zst >broken.zst
zstd -tq broken.zst
echo "zstd ended with $?"
zstd -q --rm text
ls
