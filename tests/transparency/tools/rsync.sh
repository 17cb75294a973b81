# needs: rsync rsync
# also: run
# reads: from/one from/sub/two
# writes: from/one
# rsync between folders: first copy, an update by differences, deletions, links, hard links, backups, dry run.
set -eu
umask 022
mkdir -p from/sub
seq 1 40000 >from/one
echo two >from/sub/two
ln from/one from/hard
ln -s one from/soft
mkdir from/empty
find from -exec touch -h -d '2020-01-01 UTC' {} +
rsync -aHi from/ to
echo changed >>from/one
touch -d '2021-01-01 UTC' from/one
rsync -aHi --no-whole-file --inplace from/ to
rm from/sub/two
touch -d '2021-01-01 UTC' from/sub
echo new >from/new
touch -d '2021-01-01 UTC' from/new from
rsync -aHi --delete --backup --backup-dir=../old from/ to
rsync -ani from/ to
rsync -rc --include='*.none' --exclude='*' from/ third
rsync -a nothing to 2>/dev/null || echo "rsync ended with $?"
cmp from/one to/one
