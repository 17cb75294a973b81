// The batch job of this process. The run's own job is described in run.ttl. For another job, whose process joined the
// run, its variables are written once on each host into a file next to the thread files.
#include "live.h"

enum { LARGEST_LIST = 64 << 10 };

// The variables of the job's number and of its index in an array, as in provio/system/jobs.py.
static const char numbers[JOB_WORDS][6][20] = {
    {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID"},
    {"SLURM_ARRAY_TASK_ID", "PBS_ARRAY_INDEX", "PBS_ARRAYID", "LSB_JOBINDEX", "FLUX_JOB_CC"},
};
// All variables that provio/system/jobs.py reads, except those of Grid Engine, which have too common names.
static const char variables[][24] = {
    "SLURM_JOB_ID",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_JOB_NODELIST",
    "SLURM_NODELIST",
    "SLURM_JOB_PARTITION",
    "SLURM_JOB_ACCOUNT",
    "SLURM_JOB_NUM_NODES",
    "SLURM_NTASKS",
    "SLURM_CPUS_PER_TASK",
    "SLURM_JOB_CPUS_PER_NODE",
    "SLURM_MEM_PER_NODE",
    "SLURM_MEM_PER_CPU",
    "SLURM_MEM_PER_GPU",
    "SLURM_GPUS",
    "SLURM_GPUS_PER_NODE",
    "SLURM_GPUS_PER_TASK",

    "PBS_JOBID",
    "PBS_ARRAY_INDEX",
    "PBS_ARRAYID",
    "PBS_QUEUE",
    "PBS_ACCOUNT",
    "PBS_NUM_NODES",
    "PBS_NP",
    "PBS_NUM_PPN",
    "NCPUS",
    "PBS_WALLTIME",
    "LSB_JOBID",
    "LSB_JOBINDEX",
    "LSB_MCPU_HOSTS",
    "LSB_HOSTS",
    "LSB_QUEUE",
    "LSB_PROJECT_NAME",
    "LSB_DJOB_NUMPROC",
    "LSB_MAX_NUM_PROCESSORS",
    "LSB_SUB_RES_REQ",
    "LSB_EFFECTIVE_RSRCREQ",
    "FLUX_JOB_ID",
    "FLUX_JOB_CC",
    "FLUX_JOB_NNODES",
    "FLUX_JOB_SIZE",
    "COBALT_JOBID",
    "COBALT_PARTNAME",
    "COBALT_PARTSIZE",
};
static const char lists[][24] = {"PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "COBALT_NODEFILE"};

void job_match(const char *values[JOB_WORDS], const char *name, size_t length, const char *value) {
    if (length < sizeof "PBS_JOBID" - 1 || length >= sizeof numbers[0][0] || strchr("SPLFC", *name) == NULL) return;
    if (*name == 'L' && strcmp(value, "0") == 0) return; // LSF's value without an array
    for (int word = 0; word < JOB_WORDS; word++)
        for (int i = 0; i < 6 && numbers[word][i][0] != '\0'; i++)
            if (values[word] == NULL && strncmp(numbers[word][i], name, length) == 0 &&
                numbers[word][i][length] == '\0')
                values[word] = value;
}

// Copied, because a program may overwrite its environment. A value with other characters is not a job number.
void job_keep(const char *values[JOB_WORDS]) {
    for (int word = 0; word < JOB_WORDS; word++) {
        size_t length = values[word] == NULL ? 0 : strlen(values[word]);
        if (length == 0 || length >= sizeof settings.job[word]) continue;
        bool plain = true;
        for (const char *at = values[word]; *at != '\0'; at++) plain &= *at > ' ' && *at < 127;
        if (plain && is_segment(values[word])) memcpy(settings.job[word], values[word], length + 1);
    }
}

// The job's key, as in provio/system/jobs.py.
static void text_key(struct text *text) {
    text_string(text, settings.job[JOB]);
    if (settings.job[JOB_INDEX][0] == '\0') return;
    TEXT(text, ".");
    text_string(text, settings.job[JOB_INDEX]);
}

static void text_variable(struct text *text, const char *name, const char *value, size_t size) {
    text_host(text);
    TEXT(text, "job/");
    text_string(text, name);
    TEXT(text, "> a " TERM_Environment " ; " TERM_name " \"");
    text_string(text, name);
    TEXT(text, "\"");
    TEXT_NAME(text, value, value, size);
    TEXT(text, " .\n");
}

// A file with a host per line, which the batch system removes with the job. A truncated file is ignored, because it
// would list too few hosts.
static void text_list(struct text *text, const char *name, const char *path) {
    long fd = RAW(openat, AT_FDCWD, (long)path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;
    long start = memory_map(LARGEST_LIST, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start > 0 || start < -PAGE) {
        long size = RAW(read, fd, start, LARGEST_LIST);
        if (size > 0 && size < LARGEST_LIST) text_variable(text, name, (char *)start, (size_t)size);
        memory_unmap((void *)start, LARGEST_LIST);
    }
    RAW(close, fd);
}

static void text_job(struct text *text) {
    TEXT(text, "@prefix : <https://w3id.org/provio/ns#> .\n");
    for (char **environment = settings.environment; environment != NULL && *environment != NULL; environment++) {
        const char *value = strchrnul(*environment, '=');
        size_t length = (size_t)(value - *environment);
        if (*value == '\0') continue;
        for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
            if (length == strlen(variables[i]) && memcmp(*environment, variables[i], length) == 0)
                text_variable(text, variables[i], value + 1, strlen(value + 1));
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
            if (length == strlen(lists[i]) && memcmp(*environment, lists[i], length) == 0)
                text_list(text, lists[i], value + 1);
    }
}

void job_note(void) {
    char key[2 * sizeof settings.job[0]];
    struct text name = {key, key + sizeof key - 1};
    text_key(&name);
    *name.at = '\0';
    bool own = settings.own_job != NULL && strcmp(settings.own_job, key) == 0;
    struct side_file file;
    if (settings.job[JOB][0] == '\0' || filtered(CLASS_PROCESS) || own) return;
    if (!side_file_begin(&file, "/0.job.", key, 8 * LARGEST_LIST)) return; // at most six characters per byte
    text_job(&file.text);
    side_file_end(&file);
}
