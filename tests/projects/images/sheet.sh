#!/bin/sh
# Small copies of all pictures, and one sheet of them.
mkdir -p small
for picture in *.ppm; do
    convert "$picture" -resize 50% "small/${picture%.ppm}.png"
done
montage small/*.png -tile 3x1 sheet.png
