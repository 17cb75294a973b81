# needs: tar tar
# needs: gzip gzip
# needs: xz xz-utils
# needs: bzip2 bzip2
# also: run
# reads: tree/one tree/sub/big a.tar
# writes: a.tar out/tree/sub/big more.tar
# Archives written, listed, compared, extended, unpacked, through a pipe and through compressors.
set -eu
umask 022
mkdir -p tree/sub
printf one >tree/one
seq 1 30000 >tree/sub/big
ln tree/one tree/other
ln -s sub/big tree/link
mkfifo tree/pipe
: >tree/empty
truncate -s 1M tree/sparse
printf end | dd of=tree/sparse bs=1 seek=900000 conv=notrunc status=none
find tree -exec touch -h -d '2020-01-01 UTC' {} +
archive() { tar --sort=name --owner=0 --group=0 --numeric-owner "$@"; }
archive -cf a.tar tree
archive -Scf sparse.tar tree/sparse
tar -tvf a.tar
tar -df a.tar
mkdir out && tar -xpf a.tar -C out
tar -xf sparse.tar -C out
archive -cf - tree | gzip -n >a.tar.gz
archive -cJf a.tar.xz tree
archive -cjf a.tar.bz2 tree
gzip -t a.tar.gz
mkdir gz xz && tar -xzf a.tar.gz -C gz && tar -xJf a.tar.xz -C xz
cp a.tar more.tar
echo more >added
tar --mtime=@0 --owner=0 --group=0 --numeric-owner -rf more.tar added
tar --delete -f more.tar tree/empty
tar -tf more.tar
tar -xOf more.tar added
tar -cf - -T <(printf 'tree/one\n') | tar -tf -
archive -c -f inc.tar -g snapshot tree
rm snapshot inc.tar
tar -tf nothing.tar || echo "tar ended with $?"
head -c 3000 a.tar >broken.tar
tar -tf broken.tar || echo "tar ended with $?"
