"""scikit-learn: the numbers that its scoring functions return to the program are metrics.

Calls inside scikit-learn, such as those of a search over parameters, are none: there can be thousands.
"""

ENDS = ("_score", "_error", "_loss", "_deviance")  # of the names of scoring functions
OTHERS = ("auc", "matthews_corrcoef")
METRICS = (
    "sklearn.metrics._classification", "sklearn.metrics._ranking", "sklearn.metrics._regression",
    "sklearn.metrics.cluster._supervised", "sklearn.metrics.cluster._unsupervised",
)  # fmt: skip
HOLDERS = {
    "sklearn.base": ("ClassifierMixin", "RegressorMixin"), "sklearn.pipeline": ("Pipeline",),
    "sklearn.model_selection._search": ("BaseSearchCV",),
}  # fmt: skip


def _is_within():
    """Whether scikit-learn made the call, directly or through a function of the program."""
    import sys

    frame = sys._getframe(3)  # above the report and `wrapped`
    while frame is not None:
        name = frame.f_globals.get("__name__")
        if isinstance(name, str) and (name == "sklearn" or name[:8] == "sklearn."):
            return True
        frame = frame.f_back
    return False


def _is_number(value):
    """Whether a value is one number: no array, table or text."""
    if isinstance(value, (str, bytes, bool, list, tuple, dict)):
        return False
    return getattr(value, "ndim", 0) == 0


def _scoring(name):
    def returned(declare, result, *_, **__):
        if _is_number(result) and not _is_within():
            declare.metric(name, result)

    return returned


def _of_estimator(declare, result, estimator, *_, **__):
    if _is_number(result) and not _is_within():
        declare.metric(type(estimator).__name__ + ".score", result)


def _folds(declare, name, values):
    """Declare the score of each fold, with its number as the step, and their mean."""
    for fold, value in enumerate(values):
        declare.metric(name, value, step=fold)
    declare.metric(name + ".mean", values.mean())


def _cross_scored(declare, result, *_, **__):
    if not _is_within():
        _folds(declare, "cross_val_score", result)


def _cross_validated(declare, result, *_, **__):
    if not _is_within():
        for key, values in result.items():
            if key[:5] == "test_":
                _folds(declare, "cross_validate." + key, values)


def _watch_metrics(module, follow):
    for name, function in list(vars(module).items()):
        own = getattr(function, "__module__", None) == module.__name__ and callable(function)
        if own and name[0] != "_" and (name.endswith(ENDS) or name in OTHERS):
            follow(module, name, _scoring(name))


def _watch_estimators(module, follow):
    for name in HOLDERS[module.__name__]:
        score = vars(getattr(module, name)).get("score")
        # The method of a Pipeline exists only if that of its last step does: the function within is followed.
        follow(*((score, "fn") if hasattr(score, "fn") else (getattr(module, name), "score")), _of_estimator)


def _watch_validation(module, follow):
    follow(module, "cross_val_score", _cross_scored)
    follow(module, "cross_validate", _cross_validated)


WATCHED = {"sklearn.model_selection._validation": _watch_validation}
for _name in METRICS:
    WATCHED[_name] = _watch_metrics
for _name in HOLDERS:
    WATCHED[_name] = _watch_estimators
