# needs: sed sed
# needs: awk mawk
# needs: perl perl
# needs: diff diffutils
# also: call
# reads: in a/one
# writes: in from-awk out-1 patched
# sed in place, with backups and w files; awk with its own files and pipes; perl in place; diff and patch by ed script.
set -u
umask 022
seq 1 200 >in
chmod 640 in
sed -i 's/^1/one/' in
sed -i.bak '/9/d' in
sed -n -e 's/7/seven/w sevens' -e '1,3p' in
sed --follow-symlinks -n '$p' in
ln -s in link
sed -i 's/one/1/' link
sed -s -n '$=' in sevens
sed '5r sevens' in | wc -l
sed -i s/a/b/ nothing
echo "sed ended with $?"
awk '{ print > ("out-" length($1)); n += $1 } END { print n > "from-awk"; print n | "cat 1>&2"; close("cat 1>&2") }' in
awk 'BEGIN { while ((getline line < "in") > 0) n++; print n; "echo from a pipe" | getline x; print x; exit 4 }'
echo "awk ended with $?"
awk '{ printf "%s,", $0 >> "appended" } END { close("appended"); while ((getline l < "appended") > 0) print length(l) }' in
mkdir a b
seq 1 50 >a/one
sed 's/^25$/changed/' a/one >b/one
echo new >b/two
diff -r a b
diff -e a/one b/one >script
sed 's/^25$/changed/' a/one >patched
cmp a/one b/one
diff3 a/one b/one patched
sdiff -w 40 a/one b/one | grep changed
