"""Tables for C and Python; generated from `interceptors/posix/*.def` (`make vocab`)."""

# Launcher, its variable of the rank, its variable of the number of ranks; then variables of the job and of its step.
LAUNCHERS = (
    ("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMIx", "PMIX_RANK", ""),
    ("PMI", "PMI_RANK", "PMI_SIZE"),
    ("PALS", "PALS_RANKID", ""),
    ("Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE"),
    ("Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
)
BATCH = (
    "SLURM_JOB_ID",
    "FLUX_JOB_ID",
    "PBS_JOBID",
    "LSB_JOBID",
    "PALS_APID",
)
STEPS = (
    "PMIX_NAMESPACE",
    "OMPI_MCA_ess_base_jobid",
    "PALS_APID",
    "SLURM_STEP_ID",
    "FLUX_JOB_ID",
)
# Words of names: see secret_words.py.
SURE = (
    "secret",
    "secrets",
    "password",
    "passwords",
    "passwd",
    "pwd",
    "passphrase",
    "passphrases",
    "credential",
    "credentials",
    "apikey",
    "apikeys",
)
TEXT = (
    "token",
    "auth",
    "authorization",
    "bearer",
    "cookie",
)
OF_DATA = (
    "column",
    "dict",
    "feature",
    "foreign",
    "group",
    "hash",
    "index",
    "join",
    "lookup",
    "map",
    "order",
    "partition",
    "primary",
    "row",
    "sort",
)
KEYS_OF = (
    "access",
    "api",
    "private",
    "secret",
    "ssh",
)
OWNERS = (
    "admin",
    "cert",
    "db",
    "database",
    "ftp",
    "http",
    "key",
    "login",
    "proxy",
    "root",
    "smtp",
    "user",
)
