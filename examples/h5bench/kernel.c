// kernel write|read|overwrite|append FILE [options]: the particles of a simulation, written and read again by all ranks.
//
// A file contains a group for each time step, `Timestep_0` …, each with eight datasets of one dimension: x y z px py pz
// (float), id_1 id_2 (int). Each rank has its own part of each dataset. At the end every rank prints, for each function
// of HDF5, the number of its calls, their bytes and their time.
#include "count.h"
#include <getopt.h>
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARIABLES = 8, FLOATS = 6 };
static const char *const names[VARIABLES] = {"x", "y", "z", "px", "py", "pz", "id_1", "id_2"};

static struct {
    const char *file;
    int steps, collective, rank, ranks;
    hsize_t particles; // of each rank
} job = {.steps = 2, .particles = 4096};

static hid_t type_of(int variable) {
    return variable < FLOATS ? H5T_NATIVE_FLOAT : H5T_NATIVE_INT;
}

static hsize_t bytes(void) {
    return job.particles * 4;
}

static void fail(const char *message) {
    fprintf(stderr, "kernel: rank %d: %s\n", job.rank, message);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static hid_t need(hid_t id, const char *message) {
    if (id < 0) fail(message);
    return id;
}

// Selects this rank's particles in a dataset, after those of lower ranks and `before` earlier ones.
static hid_t own_part(hid_t dataset, hsize_t before) {
    hid_t space = need(H5Dget_space(dataset), "no space");
    hsize_t start = before + job.rank * job.particles;
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &job.particles, NULL);
    return space;
}

static hid_t transfer(void) {
    hid_t list = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(list, job.collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
    return list;
}

// One read or write of this rank's part.
static void move(hid_t dataset, int variable, int writing, hsize_t before, void *values) {
    hid_t part = own_part(dataset, before), list = transfer();
    hid_t memory = H5Screate_simple(1, &job.particles, NULL);
    if (writing)
        COUNT(H5Dwrite, bytes(), H5Dwrite(dataset, type_of(variable), memory, part, list, values));
    else
        COUNT(H5Dread, bytes(), H5Dread(dataset, type_of(variable), memory, part, list, values));
    H5Sclose(memory);
    H5Pclose(list);
    H5Sclose(part);
}

static void fill(int variable, int step, void *values) {
    for (hsize_t i = 0; i < job.particles; i++) {
        hsize_t place = job.rank * job.particles + i;
        if (variable < FLOATS)
            ((float *)values)[i] = (float)(place % 1000) / 1000 + variable + step;
        else
            ((int *)values)[i] = (int)(place * VARIABLES + variable);
    }
}

// Chunks of a rank's size and no upper limit: so that it can be appended to. No time is kept, so that the same run
// makes the same bytes.
static hid_t create(hid_t group, int variable) {
    hsize_t length = job.particles * job.ranks, most = H5S_UNLIMITED;
    hid_t space = H5Screate_simple(1, &length, &most), list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(list, 1, &job.particles);
    H5Pset_fill_time(list, H5D_FILL_TIME_NEVER);
    H5Pset_obj_track_times(list, 0);
    hid_t made = COUNT(H5Dcreate2, 0,
                       H5Dcreate2(group, names[variable], type_of(variable), space, H5P_DEFAULT, list, H5P_DEFAULT));
    H5Pclose(list);
    H5Sclose(space);
    return need(made, "a dataset cannot be made");
}

static hsize_t length_of(hid_t dataset) {
    hsize_t length;
    hid_t space = H5Dget_space(dataset);
    H5Sget_simple_extent_dims(space, &length, NULL);
    H5Sclose(space);
    return length;
}

static void each_dataset(hid_t group, int step, char pattern, void *values) {
    for (int variable = 0; variable < VARIABLES; variable++) {
        hid_t dataset = pattern == 'w' ? create(group, variable)
                                       : COUNT(H5Dopen2, 0, H5Dopen2(group, names[variable], H5P_DEFAULT));
        hsize_t before = 0, longer = 0;
        if (pattern == 'a') {
            before = length_of(need(dataset, "a dataset is missing"));
            longer = before + job.particles * job.ranks;
            COUNT(H5Dset_extent, 0, H5Dset_extent(dataset, &longer));
        }
        if (pattern != 'r') fill(variable, step, values);
        move(need(dataset, "a dataset is missing"), variable, pattern != 'r', before, values);
        COUNT(H5Dclose, 0, H5Dclose(dataset));
    }
}

static hid_t open_file(char pattern) {
    hid_t list = H5Pcreate(H5P_FILE_ACCESS), file;
    H5Pset_fapl_mpio(list, MPI_COMM_WORLD, MPI_INFO_NULL);
    if (pattern == 'w')
        file = COUNT(H5Fcreate, 0, H5Fcreate(job.file, H5F_ACC_TRUNC, H5P_DEFAULT, list));
    else
        file = COUNT(H5Fopen, 0, H5Fopen(job.file, pattern == 'r' ? H5F_ACC_RDONLY : H5F_ACC_RDWR, list));
    H5Pclose(list);
    return need(file, "the file cannot be opened");
}

static void run(char pattern) {
    void *values = malloc(bytes());
    if (values == NULL) fail("no memory");
    hid_t file = open_file(pattern);
    for (int step = 0; step < job.steps; step++) {
        char name[32];
        snprintf(name, sizeof name, "Timestep_%d", step);
        hid_t group = pattern == 'w'
                          ? COUNT(H5Gcreate2, 0, H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))
                          : COUNT(H5Gopen2, 0, H5Gopen2(file, name, H5P_DEFAULT));
        each_dataset(need(group, "a step is missing"), step, pattern, values);
        COUNT(H5Gclose, 0, H5Gclose(group));
    }
    if (pattern != 'r') COUNT(H5Fflush, 0, H5Fflush(file, H5F_SCOPE_LOCAL));
    COUNT(H5Fclose, 0, H5Fclose(file));
    free(values);
}

static void options(int count, char **arguments) {
    const struct option known[] = {
        {"steps", 1, NULL, 's'}, {"particles", 1, NULL, 'p'}, {"collective", 0, NULL, 'c'}, {0}};
    for (int option; (option = getopt_long(count, arguments, "", known, NULL)) != -1;) {
        if (option == 's') job.steps = atoi(optarg);
        if (option == 'p') job.particles = strtoull(optarg, NULL, 10);
        if (option == 'c') job.collective = 1;
        if (option == '?') exit(2);
    }
    if (count - optind != 2 || strspn(arguments[optind], "wroa") < 1 || !job.particles) {
        fprintf(stderr, "usage: kernel write|read|overwrite|append FILE [--steps N] [--particles N] [--collective]\n");
        exit(2);
    }
    job.file = arguments[optind + 1];
}

int main(int count, char **arguments) {
    options(count, arguments);
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
    run(arguments[optind][0]);
    print_counts(job.rank);
    MPI_Finalize();
    return 0;
}
