"""Options of the steps keep to the limits that the configuration has."""

import pytest

from haplowave import cli
from haplowave.errors import UserError
from haplowave.options import GenotypeOptions, HaplotypeOptions, RegionOptions


def parse(options: type, *flags: str) -> object:
    parser = cli.parser("x")
    cli.add_options(parser, options)
    return cli.options_from(parser.parse_args(flags), options)


@pytest.mark.parametrize(
    ("options", "flag", "message"),
    [
        (RegionOptions, "--min-mapping-quality=-1", "--min-mapping-quality: -1 is below the minimum 0; correct it"),
        (RegionOptions, "--min-alternative-fraction=1.5", "--min-alternative-fraction: 1.5 is above the maximum 1.0; correct it"),
        (GenotypeOptions, "--low-quality=nan", "--low-quality: nan is not a finite number; correct it"),
        (HaplotypeOptions, "--assembly-kmers=25,x", "--assembly-kmers: '25,x' has not the form of the default; correct it"),
    ],
)
def test_a_value_outside_of_its_limits_is_named(options: type, flag: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(options, flag)
    assert str(caught.value) == message


@pytest.mark.parametrize("options", [RegionOptions, HaplotypeOptions, GenotypeOptions])
def test_defaults_keep_to_the_limits(options: type) -> None:
    assert parse(options) == options()
