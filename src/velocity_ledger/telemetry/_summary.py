"""The few numbers that describe the paths of one checkpoint."""

import numpy as np
import xarray as xr

from velocity_ledger.errors import UserError

_MEANS = ("straightness", "path_over_norm", "angular_path", "initial_norm", "chord")


def _mean(values: np.ndarray) -> float:
    """Mean of the values that are defined; NaN where none is."""
    defined = values[~np.isnan(values)].astype(np.float64)
    return float(defined.mean()) if defined.size else float("nan")


def summarise(dataset: xr.Dataset, checkpoint: int) -> dict[str, float]:
    """Scalars of the paths at one training step, means over tokens taken in float64.

    path_length = sum over sub-updates of the mean step length; turning_angle = mean, in degrees,
    over the sub-updates and tokens where the angle is defined, with their number in `angles`;
    final_norm = mean |x_n|; straightness, path_over_norm, angular_path (degrees), initial_norm and
    chord = means over the tokens where they are defined (a mean of ratios, not a ratio of means);
    zero_steps = steps of exactly zero length, counted over all tokens. A quantity
    that the dataset lacks is no key.

    A dataset may hold means over tokens instead of tokens, as an imported one does: path_length is
    then the same number, turning_angle the mean of the sub-updates' means, and `angles` is no key.

    Raises `UserError` for a step that was not measured.
    """
    if checkpoint not in dataset["checkpoint"].values:
        raise UserError(
            f"step {checkpoint} was not measured, choose one of "
            f"{', '.join(map(str, dataset['checkpoint'].values)) or 'none'}"
        )
    now = dataset.sel(checkpoint=checkpoint).data_vars
    at = {str(name): values.values for name, values in now.items()}
    result = {}
    if "step_length" in at:
        lengths = at["step_length"].astype(np.float64)
        means = lengths.mean(-1) if "token" in now["step_length"].dims else lengths
        result["path_length"] = float(means.sum())
    if "turning_angle" in at:
        result["turning_angle"] = _mean(at["turning_angle"])
        if "token" in now["turning_angle"].dims:
            result["angles"] = float(np.sum(~np.isnan(at["turning_angle"])))
    if "stream_norm" in at:
        result["final_norm"] = float(at["stream_norm"][-1].astype(np.float64).mean())
    result |= {name: _mean(at[name]) for name in _MEANS if name in at}
    if "zero_steps" in at:
        result["zero_steps"] = float(at["zero_steps"].sum())
    return result
