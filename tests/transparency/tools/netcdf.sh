# needs: ncgen netcdf-bin
# needs: h5copy hdf5-tools
# reads: small.cdl small.nc four.nc
# any: *.nc *.h5
# writes: small.nc four.nc copied.h5
# The tools of netCDF and HDF5: a file from its text in both formats, copies, comparisons, a damaged file.
set -u
umask 022
cat >small.cdl <<'END'
netcdf small {
dimensions: x = 4 ; t = UNLIMITED ;
variables: double a(t, x) ; a:units = "m" ; int x(x) ;
data: x = 1, 2, 3, 4 ; a = 1, 2, 3, 4, 5, 6, 7, 8 ;
}
END
ncgen -o small.nc small.cdl
ncgen -4 -o four.nc small.cdl
ncdump small.nc
nccopy -k classic four.nc back.nc && ncdump -v x back.nc | tail -3
h5copy -i four.nc -o copied.h5 -s /x -d /x
h5ls copied.h5
h5ls -d copied.h5/x
h5diff four.nc copied.h5 /x /x
echo "h5diff ended with $?"
h5repack -f GZIP=5 four.nc packed.h5 && h5diff four.nc packed.h5
head -c 50 four.nc >broken.nc
ncdump broken.nc >/dev/null 2>&1
echo "ncdump ended with $?"
