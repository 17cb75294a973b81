# needs: gzip gzip
# needs: xz xz-utils
# needs: bzip2 bzip2
# reads: text text.gz
# writes: text.gz text.xz again
# Compressors in place and through pipes; xz with threads of its own.
set -u
seq 1 60000 >text
touch -d '2020-05-05 UTC' text
gzip -kn text
xz -k text
xz -kc -T2 --block-size=65536 text >threads.xz
bzip2 -k text
gzip -l text.gz
xz --robot -l text.xz
gunzip -c text.gz >again
cmp text again && rm again
xz -dc -T2 threads.xz | cmp - text
zcat text.gz | tail -1
cat text | gzip -n | gzip -d | wc -l
cp text copy && gzip -n copy && gunzip copy.gz
cp text moved && xz moved && unxz moved.xz
head -c 100 text.gz >broken.gz
gzip -t broken.gz
echo "gzip ended with $?"
gzip text.gz
echo "gzip ended with $?"
xzcat broken.gz
echo "xzcat ended with $?"
zgrep -c 59999 text.gz
gunzip -c text.gz >again
