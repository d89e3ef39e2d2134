"""The labelled dataset of measurements."""

import numpy as np
import pytest
import xarray as xr

from velocity_ledger.errors import UserError
from velocity_ledger.telemetry import path_dataset

SUB_UPDATES, WINDOWS, TIME = 4, 2, 3


def measurement(seed: int, **more: np.ndarray) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    deep = (SUB_UPDATES, WINDOWS * TIME)
    return {
        "step_length": rng.random(deep, np.float32),
        "turning_angle": rng.random(deep, np.float32),
        "path_length": rng.random(deep[1], np.float32),
        "zero_steps": np.zeros(deep[1], np.float32),
        **more,
    }


def test_dimensions_coordinates_and_values():
    runs = {50: measurement(1), 0: measurement(0)}
    data = path_dataset(runs, windows=WINDOWS)
    assert data["step_length"].dims == ("checkpoint", "sub_update", "token")
    assert data["path_length"].dims == ("checkpoint", "token")
    assert data["checkpoint"].values.tolist() == [0, 50]
    assert data["sub_update"].values.tolist() == [1, 2, 3, 4]
    assert data["window"].values.tolist() == [0, 0, 0, 1, 1, 1]
    assert data["position"].values.tolist() == [0, 1, 2, 0, 1, 2]
    at = data["step_length"].sel(checkpoint=50, sub_update=3).isel(token=4)
    assert at.item() == runs[50]["step_length"][2, 4]
    assert (at["window"].item(), at["position"].item()) == (1, 1)


def test_every_variable_and_coordinate_says_its_unit_and_name():
    data = path_dataset({0: measurement(0)}, windows=WINDOWS)
    for name, variable in data.variables.items():
        assert {"units", "long_name"} <= set(variable.attrs), name
    assert data["turning_angle"].attrs["units"] == "degree"


def test_absent_stays_absent_and_another_recorders_quantity_is_kept():
    data = path_dataset({0: measurement(0, mine=np.ones(WINDOWS * TIME))}, windows=WINDOWS)
    assert "velocity_norm" not in data
    assert data["mine"].dims == ("checkpoint", "token")


def test_zero_steps_are_integers_and_undefined_angles_survive_the_file(tmp_path):
    run = measurement(0)
    run["zero_steps"][2] = 3
    run["turning_angle"][0] = np.nan
    data = path_dataset({0: run}, windows=WINDOWS)
    data.to_netcdf(tmp_path / "paths.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "paths.nc", engine="h5netcdf") as read:
        xr.testing.assert_identical(read.load(), data)
    assert data["zero_steps"].dtype == np.int32
    assert data["zero_steps"].values.tolist() == [[0, 0, 3, 0, 0, 0]]
    assert np.isnan(data["turning_angle"].sel(sub_update=1)).all()


def test_gram_matrices_are_over_pairs_of_sub_updates(tmp_path):
    gram = np.eye(SUB_UPDATES, dtype=np.float32)
    data = path_dataset({0: measurement(0, step_gram=gram)}, windows=WINDOWS)
    assert data["step_gram"].dims == ("checkpoint", "sub_update", "sub_update_2")
    assert data["sub_update_2"].values.tolist() == [1, 2, 3, 4]
    np.testing.assert_array_equal(data["step_gram"].sel(checkpoint=0), gram)


def test_nothing_measured_is_an_empty_dataset():
    data = path_dataset({}, windows=WINDOWS)
    assert data.sizes["checkpoint"] == 0 and not data.data_vars


def without_path_length() -> dict[str, np.ndarray]:
    return {k: v for k, v in measurement(1).items() if k != "path_length"}


@pytest.mark.parametrize(
    ("runs", "windows"),
    [
        ({0: measurement(0), 1: without_path_length()}, WINDOWS),
        ({0: measurement(0)}, 4),
        ({0: measurement(0)}, 0),
        ({0: measurement(0, mine=np.ones(5))}, WINDOWS),
        ({0: measurement(0, mine=np.ones((9, WINDOWS * TIME)))}, WINDOWS),
        ({0: measurement(0, mine=np.ones((2, 2, 6)))}, WINDOWS),
        ({0: measurement(0, mine=np.array(1.0))}, WINDOWS),
        ({0: {}}, WINDOWS),
        ({0: measurement(0, step_gram=np.ones((3, 3)))}, WINDOWS),
        ({0: measurement(0, step_gram=np.ones((4, 5)))}, WINDOWS),
        ({0: measurement(0, step_gram=np.ones(4))}, WINDOWS),
    ],
)
def test_measurements_that_do_not_belong_together_are_refused(runs, windows):
    with pytest.raises(UserError):
        path_dataset(runs, windows=windows)
