# needs: jq jq
# reads: rows.json lines
# writes: sorted.json
# jq: programs from files, streams, raw and slurped input, errors, exit codes by the result.
set -u
umask 022
for i in $(seq 1 300); do echo "{\"n\": $i, \"name\": \"row $i\", \"odd\": $((i % 2))}"; done >lines
jq -s . lines >rows.json
jq 'sort_by(.name) | map(.n)' rows.json >sorted.json
echo '[.[] | select(.odd == 1)] | length' >program
jq -f program rows.json
jq -c --stream 'select(length == 2) | .[1]' rows.json | tail -2
jq -r '.[0:3][] | [.n, .name] | @csv' rows.json
jq -n --slurpfile given rows.json --rawfile text lines '[($given[0] | length), ($text | length)]'
jq -e '.[0].none' rows.json
echo "jq ended with $?"
echo '{"a":' | jq . 2>&1
echo "jq ended with $?"
jq . nothing
echo "jq ended with $?"
