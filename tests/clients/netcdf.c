// netcdf IN.nc OUT.nc: the variable `mean` of OUT from `height` of IN, then its `flag` from `mask`.
#include <netcdf.h>
#include <stdlib.h>

enum { ROWS = 3, COLUMNS = 4 };

static void check(int status) {
    if (status != NC_NOERR) abort();
}

static void average(int from, int to) {
    int source, target, dimension;
    double heights[ROWS][COLUMNS], means[COLUMNS] = {0};
    check(nc_inq_varid(from, "height", &source));
    check(nc_get_var_double(from, source, &heights[0][0]));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) means[j] += heights[i][j] / ROWS;
    check(nc_def_dim(to, "column", COLUMNS, &dimension));
    check(nc_def_var(to, "mean", NC_DOUBLE, 1, &dimension, &target));
    check(nc_put_var_double(to, target, means));
}

static void mark(int from, int to) {
    int source, target, dimension, mask[COLUMNS];
    check(nc_inq_varid(from, "mask", &source));
    check(nc_get_var_int(from, source, mask));
    check(nc_inq_dimid(to, "column", &dimension));
    check(nc_def_var(to, "flag", NC_INT, 1, &dimension, &target));
    check(nc_put_var_int(to, target, mask));
}

int main(int count, char **arguments) {
    int from, to;
    if (count < 3) return 2;
    check(nc_open(arguments[1], NC_NOWRITE, &from));
    check(nc_create(arguments[2], NC_NETCDF4 | NC_CLOBBER, &to));
    average(from, to);
    mark(from, to);
    check(nc_close(to));
    check(nc_close(from));
    return 0;
}
