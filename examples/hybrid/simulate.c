// The heat in a plate, computed by several ranks: each has a strip of rows, and they write one HDF5 file together.
// In: a file of `name value` lines (conductivity, amplitude, steps, frames, seed). Out: /temperature, a float for each
// frame and point, and /heat, the sum of each frame, which the ranks add up.
// usage: mpirun -n RANKS ./simulate heat.cfg heat.h5
#include <hdf5.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 96 };

static int rank, ranks, first, rows;
static double conductivity = 0.2, amplitude = 1, steps = 10, frames = 48, seed = 1;

static void fail(const char *message) {
    fprintf(stderr, "simulate: rank %d: %s\n", rank, message);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static hid_t need(hid_t id) {
    if (id < 0) fail("HDF5 failed");
    return id;
}

static void configure(const char *path) {
    char name[64];
    double value;
    FILE *file = fopen(path, "r");
    if (!file) fail("the configuration cannot be read");
    while (fscanf(file, "%63s %lf", name, &value) == 2) {
        if (!strcmp(name, "conductivity")) conductivity = value;
        if (!strcmp(name, "amplitude")) amplitude = value;
        if (!strcmp(name, "steps")) steps = value;
        if (!strcmp(name, "frames")) frames = value;
        if (!strcmp(name, "seed")) seed = value;
    }
    fclose(file);
}

// A number from 0 to 1 for each row, column and seed, independent of the number of ranks.
static float noise(int row, int column) {
    unsigned long state = ((unsigned long)seed * SIZE + row) * SIZE + column;
    for (int i = 0; i < 4; i++)
        state = state * 6364136223846793005UL + 1442695040888963407UL;
    return (float)(state >> 40) / (1 << 24);
}

// Gives the first and last rows of the strip to the ranks above and below.
static void exchange(float (*now)[SIZE]) {
    int above = rank ? rank - 1 : MPI_PROC_NULL, below = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(now[1], SIZE, MPI_FLOAT, above, 0, now[rows + 1], SIZE, MPI_FLOAT, below, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(now[rows], SIZE, MPI_FLOAT, below, 0, now[0], SIZE, MPI_FLOAT, above, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void step(float (*now)[SIZE], float (*next)[SIZE]) {
    exchange(now);
    if (!rank) memset(now[0], 0, sizeof *now); // the edges are cold
    if (rank + 1 == ranks) memset(now[rows + 1], 0, sizeof *now);
    for (int row = 1; row <= rows; row++)
        for (int column = 0; column < SIZE; column++) {
            float left = column ? now[row][column - 1] : 0, right = column + 1 < SIZE ? now[row][column + 1] : 0;
            float around = now[row - 1][column] + now[row + 1][column] + left + right;
            next[row][column] = now[row][column] + (float)conductivity * (around - 4 * now[row][column]);
        }
}

static hid_t create(hid_t file, const char *name, int rank_of, const hsize_t *shape) {
    hid_t space = H5Screate_simple(rank_of, shape, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(list, 0); // the same run makes the same bytes
    hid_t made = need(H5Dcreate2(file, name, H5T_NATIVE_FLOAT, space, H5P_DEFAULT, list, H5P_DEFAULT));
    H5Pclose(list);
    H5Sclose(space);
    return made;
}

// Writes the rows of this rank in one frame.
static void save(hid_t dataset, int frame, float (*now)[SIZE]) {
    hsize_t start[] = {frame, first, 0}, count[] = {1, rows, SIZE};
    hid_t space = H5Dget_space(dataset), memory = H5Screate_simple(3, count, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    if (H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, now[1]) < 0) fail("a frame is not written");
    H5Sclose(memory);
    H5Sclose(space);
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (count != 3) fail("usage: simulate heat.cfg heat.h5");
    configure(words[1]);
    first = rank * SIZE / ranks;
    rows = (rank + 1) * SIZE / ranks - first;

    float(*now)[SIZE] = calloc(rows + 2, sizeof *now), (*next)[SIZE] = calloc(rows + 2, sizeof *next);
    float *heat = calloc(frames, sizeof *heat), *total = calloc(frames, sizeof *total);
    if (!now || !next || !heat || !total) fail("no memory");
    for (int row = 1; row <= rows; row++)
        for (int column = 0; column < SIZE; column++)
            now[row][column] = (float)amplitude * noise(first + row - 1, column);

    hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(list, MPI_COMM_WORLD, MPI_INFO_NULL);
    hid_t file = need(H5Fcreate(words[2], H5F_ACC_TRUNC, H5P_DEFAULT, list));
    hid_t temperature = create(file, "temperature", 3, (hsize_t[]){frames, SIZE, SIZE});
    hid_t sums = create(file, "heat", 1, (hsize_t[]){frames});
    for (int frame = 0; frame < (int)frames; frame++) {
        for (int done = 0; done < (int)steps; done++) {
            step(now, next);
            float(*other)[SIZE] = now;
            now = next;
            next = other;
        }
        save(temperature, frame, now);
        for (int row = 1; row <= rows; row++)
            for (int column = 0; column < SIZE; column++)
                heat[frame] += now[row][column];
    }
    MPI_Reduce(heat, total, frames, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!rank && H5Dwrite(sums, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, total) < 0) fail("no sums written");
    H5Dclose(sums);
    H5Dclose(temperature);
    H5Fclose(file);
    H5Pclose(list);
    if (!rank) printf("simulate: %d frames of %d x %d points\n", (int)frames, SIZE, SIZE);
    MPI_Finalize();
    return 0;
}
