"""Hydra: what a job is composed of, without Hydra's own part, is a Configuration, for each job of a sweep its own."""

LATEST = {}


def _set(said, result, instance, composed, *_, **__):
    from omegaconf import OmegaConf

    values = OmegaConf.masked_copy(composed, [key for key in composed if key != "hydra"])
    try:
        plain = OmegaConf.to_container(values, resolve=True)
    except Exception:  # what it refers to is known only within the job
        plain = OmegaConf.to_container(values, resolve=False)
    name = composed.hydra.job.name
    if LATEST.get(name) != plain:  # a launcher sets what the job that it launches sets again
        LATEST[name] = plain
        said.configuration(plain, name=name)


def _watch(hydra_config, follow):
    follow(hydra_config.HydraConfig, "set_config", _set)


WATCHED = {"hydra.core.hydra_config": _watch}
