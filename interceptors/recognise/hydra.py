"""Hydra: the configuration of each job, also in a sweep, is a Configuration, without Hydra's own part."""

LATEST = {}


def _set(declare, result, instance, composed, *_, **__):
    from omegaconf import OmegaConf

    values = OmegaConf.masked_copy(composed, [key for key in composed if key != "hydra"])
    try:
        plain = OmegaConf.to_container(values, resolve=True)
    except Exception:  # an interpolation that can be resolved only in the job
        plain = OmegaConf.to_container(values, resolve=False)
    name = composed.hydra.job.name
    if LATEST.get(name) != plain:  # a launcher and the job that it starts set the same
        LATEST[name] = plain
        declare.configuration(plain, name=name)


def _watch(hydra_config, follow):
    follow(hydra_config.HydraConfig, "set_config", _set)


WATCHED = {"hydra.core.hydra_config": _watch}
