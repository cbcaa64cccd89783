"""Figures are estimated once per object and not mixed up between objects."""

from __future__ import annotations

import dataclasses

from bench.remembered import once_each


@dataclasses.dataclass(frozen=True)
class Thing:
    """Equal by value, as results are."""

    value: list[int]


def test_each_object_is_estimated_once_and_apart_from_its_equals() -> None:
    asked: list[int] = []

    @once_each
    def total(thing: Thing) -> int:
        asked.append(id(thing))
        return sum(thing.value)

    one, other = Thing([1, 2]), Thing([1, 2])
    assert [total(one), total(one), total(other)] == [3, 3, 3]
    assert asked == [id(one), id(other)]


def test_functions_do_not_share_what_they_keep() -> None:
    thing = Thing([3, 4])
    least = once_each(lambda one: min(one.value))
    most = once_each(lambda one: max(one.value))
    assert (least(thing), most(thing)) == (3, 4)


def test_a_copy_with_other_values_is_estimated_anew() -> None:
    first = once_each(lambda one: one.value[0])
    thing = Thing([5])
    assert first(thing) == 5
    assert first(dataclasses.replace(thing, value=[6])) == 6
