"""Queries of documents: the same result as of MongoDB's language, for generated documents and queries."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provio.ask.document_query import select
from provio.base.errors import BadQuery

# No truth values: mongomock takes them for the numbers 0 and 1, MongoDB and provio do not.
SCALARS = st.one_of(st.none(), st.integers(-2, 3), st.sampled_from([0.5, 2.0, "a", "b", "abc"]))
VALUES = st.one_of(SCALARS, st.lists(SCALARS.filter(lambda one: one is not None), max_size=3))
NUMBERS, TEXTS = st.integers(-2, 3) | st.just(0.5), st.sampled_from(["a", "abc"])
FIELDS = st.sampled_from(["used.a", "used.b", "generated.loss", "t", "kind", "none.x"])
DOCUMENTS = st.lists(
    st.fixed_dictionaries(
        {
            "used": st.dictionaries(st.sampled_from("ab"), VALUES, max_size=2),
            "generated": st.dictionaries(st.just("loss"), NUMBERS, max_size=1),
            "kind": st.sampled_from("xyz"),
        },
        optional={"t": VALUES},
    ),
    max_size=8,
)
TESTS = st.one_of(
    st.builds(lambda name, one: {name: one}, st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), NUMBERS | TEXTS),
    st.builds(lambda name, one: {name: one}, st.sampled_from(["$eq", "$ne"]), SCALARS),
    st.builds(lambda name, some: {name: some}, st.sampled_from(["$in", "$nin"]), st.lists(SCALARS, max_size=3)),
    st.builds(lambda one: {"$exists": one}, st.booleans()),
    st.builds(lambda one: {"$regex": one}, st.sampled_from(["a", "^b", "c$"])),
)
CONDITIONS = st.one_of(VALUES, TESTS, TESTS.map(lambda one: {"$not": one}))
FILTERS = st.recursive(
    st.dictionaries(FIELDS, CONDITIONS, max_size=3),
    lambda inner: st.builds(
        lambda name, some: {name: some},
        st.sampled_from(["$and", "$or", "$nor"]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=4,
)


def collection(documents: list[dict[str, Any]]) -> Any:
    """A collection of mongomock with these documents, each with its place as `_id`."""
    mongomock = pytest.importorskip("mongomock", reason="mongomock is not installed here")
    found = mongomock.MongoClient().db.tasks
    for place, document in enumerate(json.loads(json.dumps(documents))):
        found.insert_one({"_id": place, **document})
    return found


@given(DOCUMENTS, FILTERS)
def test_a_filter_selects_the_documents_of_mongodb(documents: list[dict[str, Any]], wanted: dict[str, Any]) -> None:
    numbered = [{"_id": place, **document} for place, document in enumerate(documents)]
    expected = [one["_id"] for one in collection(documents).find(wanted)]
    assert [one["_id"] for one in select(numbered, filter=wanted)] == expected


@given(DOCUMENTS, st.sampled_from(["ascending", "descending", 1, -1]), st.integers(0, 9))
def test_order_and_limit_are_those_of_mongodb(
    documents: list[dict[str, Any]], direction: str | int, limit: int
) -> None:
    """By two fields; a field that is missing comes first."""
    numbered = [{"_id": place, **document} for place, document in enumerate(documents)]
    number = 1 if direction in (1, "ascending") else -1
    order = [("generated.loss", number), ("kind", -number), ("_id", 1)]
    expected = [one["_id"] for one in collection(documents).find().sort(order).limit(limit)]
    given_order = [("generated.loss", direction), ("kind", -number), ("_id", "asc")]
    assert [one["_id"] for one in select(numbered, sort=given_order, limit=limit)] == expected


@given(DOCUMENTS, st.sampled_from(["min", "max", "avg", "sum"]))
def test_groups_are_those_of_mongodb(documents: list[dict[str, Any]], operator: str) -> None:
    """One for each value of the fields that are not aggregated."""
    pipeline = [{"$group": {"_id": "$kind", "value": {f"${operator}": "$generated.loss"}}}]
    expected = {one["_id"]: one["value"] for one in collection(documents).aggregate(pipeline)}
    found = select(documents, projection=["kind", "generated.loss"], aggregation=[(operator, "generated.loss")])
    assert {one["kind"]: one[f"{operator}_generated_loss"] for one in found} == expected


def test_truth_values_are_no_numbers() -> None:
    """As in MongoDB itself."""
    documents: list[dict[str, Any]] = [{"a": 1}, {"a": True}, {"a": 0}, {"a": False}]
    assert select(documents, filter={"a": True}) == [{"a": True}]
    assert select(documents, filter={"a": 0}) == [{"a": 0}]
    assert select(documents, filter={"a": {"$gte": 0}}) == [{"a": 1}, {"a": 0}]


def test_a_name_may_contain_full_stops() -> None:
    """As names of settings do; MongoDB has no such names."""
    documents = [{"used": {"model.layers": 3, "lr": 0.1}}, {"used": {"model.layers": 4}}]
    assert select(documents, filter={"used.model.layers": 4}) == [documents[1]]
    assert select(documents, projection=["used.model.layers"]) == [
        {"used": {"model.layers": 3}}, {"used": {"model.layers": 4}},
    ]  # fmt: skip


def test_a_projection_keeps_places_and_leaves_out_what_is_missing() -> None:
    documents = [{"used": {"a": 1, "b": 2}, "n": 3}, {"n": None}]
    assert select(documents, projection=["used.b", "n"]) == [{"used": {"b": 2}, "n": 3}, {"n": None}]
    assert select(documents, projection=[]) == [{}, {}]


def test_aggregates_of_nothing() -> None:
    """Without documents there is one row of aggregates only if there are no groups."""
    assert select([], aggregation=[("min", "a"), ("count", "a")]) == [{"min_a": None, "count_a": 0}]
    assert select([], projection=["b"], aggregation=[("min", "a")]) == []


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        ({"filter": {"a": {"$near": 1}}}, r"\$near is no operator.*docs/api.md"),
        ({"filter": {"a": {"$gtt": 1}}}, r"\$gtt is no operator.*\$gt"),
        ({"filter": {"$where": "1"}}, r"\$where is no operator of a filter.*known: \$and"),
        ({"filter": {"$or": {}}}, r"\$or needs a list of filters"),
        ({"filter": {"$and": []}}, r"\$and needs a list of filters"),
        ({"filter": {"$or": [1]}}, "a filter is an object"),
        ({"filter": [1]}, "a filter is an object"),
        ({"filter": {"a": {"$in": "abc"}}}, r"\$in needs a list"),
        ({"filter": {"a": {"$regex": "("}}}, r"\$regex: '\(' is no regular expression"),
        ({"filter": {"a": {"$regex": 1}}}, r"\$regex: 1 is no regular expression"),
        ({"filter": {"a": {"$regex": "a{99999999999999999999}"}}}, r"\$regex: .* is no regular expression"),
        ({"filter": {"a": {"$regex": "(" * 2000}}}, r"\$regex: .* is no regular expression"),
        ({"projection": "used.a"}, r"projection is a list of fields, such as \["),
        ({"projection": [1]}, "projection is a list of fields"),
        ({"aggregation": ["min"]}, "aggregation is a list of pairs"),
        ({"aggregation": [("median", "a")]}, "'median' is no aggregation.*known: min"),
        ({"aggregation": [(["min"], "a")]}, r"\['min'\] is no aggregation"),
        ({"sort": [("a", "up")]}, "sort is a list of pairs"),
        ({"sort": ["a"]}, "sort is a list of pairs"),
        ({"sort": "a"}, "sort is a list of pairs"),
        ({"limit": -1}, "limit is a whole number"),
        ({"limit": True}, "limit is a whole number"),
        ({"limit": "9"}, "limit is a whole number"),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("documents", [[], [{"a": 1}]], ids=["of nothing", "of one"])
def test_wrong_arguments_are_refused(documents: list[dict[str, Any]], arguments: dict[str, Any], remedy: str) -> None:
    """With the remedy, also if there are no documents."""
    with pytest.raises(BadQuery, match=remedy):
        select(documents, **arguments)
