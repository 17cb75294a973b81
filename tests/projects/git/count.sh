#!/bin/sh
# Words of each chapter.
wc -w chapters/*.txt > words.txt
