# needs: tclsh tcl
# reads: in
# writes: out copied
# any: copied moved
# tclsh: channels in several encodings, pipelines, an event loop with a timer and a readable pipe, errors; its copies have
# times of whole seconds.
set -u
umask 022
seq 1 500 >in
cat >program.tcl <<'END'
set in [open in]; set out [open out w]
while {[gets $in line] >= 0} { if {$line % 7 == 0} { puts $out $line } }
close $in; close $out
file copy out copied; file rename copied moved; file copy moved copied
puts [exec sort -rn out | head -1]
set pipe [open "|cat in" r]; fconfigure $pipe -blocking 0 -buffering line
set count 0
fileevent $pipe readable { if {[gets $pipe line] >= 0} { incr count } elseif {[eof $pipe]} { set ended 1 } }
after 5000 { set ended timeout }
vwait ended; puts "$count $ended"
fconfigure $pipe -blocking 1; close $pipe
set wide [open wide w]; fconfigure $wide -encoding utf-16; puts $wide "caf\u00e9"; close $wide
puts [file size wide]
puts [catch {open nothing} message]; puts $message
puts [catch {exec false}]
file mkdir d/e; puts [lsort [glob *]]; file delete -force d
exit 3
END
tclsh program.tcl
echo "tclsh ended with $?"
