# SPDX-License-Identifier: Apache-2.0
"""Random relations over small random tables, as Hypothesis strategies: what a person could write, not what a parser could read.

A relation is SQL text with named, typed columns. Relations nest: a table, a filter, a projection, a join, an aggregate, a set operation, a
sort with a limit. Every name is fresh, so that nothing is ambiguous; arithmetic stays far from overflow and nothing divides, so that
every query has an answer, and PostgreSQL's answer is DuckDB's.
"""

import dataclasses
import itertools

from hypothesis import strategies as st

INT, TEXT, DATE, DECIMAL, BOOL = "int", "text", "date", "decimal(9, 2)", "boolean"
TYPES = (INT, TEXT, DATE, DECIMAL, BOOL)
LETTERS = {INT: "I", TEXT: "T", DATE: "T", DECIMAL: "R", BOOL: "T"}
WORDS = ("", "a", "ab", "b", "ba", "Zug", "ü", "a%")


@dataclasses.dataclass(frozen=True)
class Column:
    name: str
    type: str


@dataclasses.dataclass(frozen=True)
class Relation:
    sql: str  # what may stand after FROM, alias included
    columns: tuple


def literal(type_):
    return {
        INT: st.integers(-4, 9).map(lambda v: f"({v})::int"),
        TEXT: st.sampled_from(WORDS).map(lambda v: f"'{v}'::text"),
        DATE: st.integers(0, 40).map(lambda v: f"(DATE '2024-02-10' + {v})"),
        DECIMAL: st.integers(-300, 300).map(lambda v: f"({v / 100:.2f})::decimal(9, 2)"),
        BOOL: st.sampled_from(("true", "false")),
    }[type_]


def value(type_):
    """As literal, one in six NULL."""
    return st.integers(0, 5).flatmap(lambda n: st.just(f"NULL::{type_}") if n == 0 else literal(type_))


@st.composite
def tables(draw):
    """t0, t1, t2 as statements that make views, and the relations that name them."""
    statements, relations = [], []
    for index in range(3):
        types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=4))
        columns = tuple(Column(f"t{index}c{i}", type_) for i, type_ in enumerate([INT, *types]))
        rows = draw(st.lists(st.tuples(*(value(column.type) for column in columns)), max_size=30))
        body = ", ".join(f"({', '.join(row)})" for row in rows or [tuple(f"NULL::{column.type}" for column in columns)])
        names = ", ".join(column.name for column in columns)
        empty = "" if rows else " WHERE false"
        statements.append(f"CREATE VIEW t{index} AS SELECT * FROM (VALUES {body}) AS v({names}){empty}")
        relations.append(Relation(f"t{index}", columns))
    return statements, relations


class Generator:
    """Draws relations of bounded depth; one a query."""

    def __init__(self, draw, base):
        self.draw = draw
        self.base = base
        self.numbers = itertools.count()

    def name(self, prefix):
        return f"{prefix}{next(self.numbers)}"

    def choose(self, options):
        return self.draw(st.sampled_from(options))

    # Expressions

    def expression(self, scope, type_, depth=2):
        having = [column.name for column in scope if column.type == type_]
        if depth == 0 or self.draw(st.booleans()):
            return self.choose(having) if having and self.draw(st.integers(0, 3)) else self.draw(value(type_))
        make = self.choose({INT: (self.integer,), TEXT: (self.text,), DATE: (self.date,), DECIMAL: (self.decimal,), BOOL: (self.condition,)}[type_] + (self.case,))
        return make(scope, depth, type_) if make == self.case else make(scope, depth)

    def case(self, scope, depth, type_):
        then, other = (self.expression(scope, type_, depth - 1) for _ in range(2))
        if self.draw(st.booleans()):
            return f"coalesce({then}, {other})"
        return f"CASE WHEN {self.condition(scope, depth - 1)} THEN {then} ELSE {other} END"

    def integer(self, scope, depth):
        if self.draw(st.booleans()):
            return f"length({self.expression(scope, TEXT, depth - 1)})::int"
        left, right = (self.expression(scope, INT, depth - 1) for _ in range(2))
        return f"({left} {self.choose('+-')} {right})"

    def text(self, scope, depth):
        inner = self.expression(scope, TEXT, depth - 1)
        return self.choose((f"upper({inner})", f"({inner} || 'x')", f"substring({inner}, 1, 1)", f"{self.expression(scope, INT, depth - 1)}::text"))

    def date(self, scope, depth):
        return f"({self.expression(scope, DATE, depth - 1)} + {self.draw(st.integers(-3, 3))})"

    def decimal(self, scope, depth):
        left, right = (self.expression(scope, DECIMAL, depth - 1) for _ in range(2))
        return f"({left} {self.choose('+-')} {right})::decimal(9, 2)"

    def condition(self, scope, depth=2):
        kind = self.choose(("compare", "compare", "null", "in", "between", "like", "and", "or", "not") if depth > 0 else ("compare", "null"))
        type_ = self.choose(TYPES)
        inner = max(depth - 1, 0)
        if kind == "compare":
            left, right = (self.expression(scope, type_, inner) for _ in range(2))
            return f"({left} {self.choose(('=', '<>', '<', '<=', '>', 'IS DISTINCT FROM', 'IS NOT DISTINCT FROM'))} {right})"
        if kind == "null":
            return f"({self.expression(scope, type_, inner)} IS {self.choose(('', 'NOT '))}NULL)"
        if kind == "in":
            items = ", ".join(self.draw(value(type_)) for _ in range(self.draw(st.integers(1, 4))))
            return f"({self.expression(scope, type_, inner)} {self.choose(('', 'NOT '))}IN ({items}))"
        if kind == "between":
            low, high = (self.draw(value(type_)) for _ in range(2))
            return f"({self.expression(scope, type_, inner)} BETWEEN {low} AND {high})"
        if kind == "like":
            return f"({self.expression(scope, TEXT, inner)} LIKE '{self.choose(('a%', '%b', '_', '%', 'a_', ''))}')"
        if kind == "not":
            return f"(NOT {self.condition(scope, inner)})"
        return f"({self.condition(scope, inner)} {kind.upper()} {self.condition(scope, inner)})"

    # Relations

    def relation(self, depth):
        if depth == 0:
            return self.table()
        make = self.choose((self.filtered, self.projected, self.joined, self.joined, self.aggregated, self.aggregated, self.combined, self.limited, self.table))
        return make() if make == self.table else make(depth)

    def table(self):
        table = self.choose(self.base)
        alias = self.name("r")
        columns = tuple(Column(self.name("c"), column.type) for column in table.columns)
        return Relation(f"{table.sql} AS {alias}({', '.join(column.name for column in columns)})", columns)

    def wrap(self, select, columns):
        return Relation(f"({select}) AS {self.name('r')}", tuple(columns))

    def select(self, inner, tail=""):
        """A projection of `inner` under fresh names."""
        columns = [Column(self.name("c"), column.type) for column in inner.columns]
        items = ", ".join(f"{old.name} AS {new.name}" for old, new in zip(inner.columns, columns))
        return self.wrap(f"SELECT {items} FROM {inner.sql}{tail}", columns)

    def filtered(self, depth):
        inner = self.relation(depth - 1)
        return self.select(inner, f" WHERE {self.predicate(inner.columns, depth)}")

    def predicate(self, scope, depth):
        """A condition, now and then over a subquery that looks outside."""
        kind = self.choose(("plain", "plain", "exists", "in", "scalar"))
        if kind == "plain":
            return self.condition(scope)
        other = self.relation(max(depth - 2, 0))
        word = self.choose(("", "NOT "))
        outer = [column for column in scope if any(column.type == own.type for own in other.columns)]
        if kind == "in" and outer:
            left = self.choose(outer)
            right = self.choose([own for own in other.columns if own.type == left.type])
            return f"({left.name} {word}IN (SELECT {right.name} FROM {other.sql}))"
        links = []
        for left in outer[: self.draw(st.integers(0, 2))]:
            right = self.choose([own for own in other.columns if own.type == left.type])
            links.append(f"{left.name} = {right.name}")
        where = " AND ".join([*links, self.condition(other.columns, 1)])
        if kind == "exists":
            return f"({word}EXISTS (SELECT 1 FROM {other.sql} WHERE {where}))"
        counted = self.choose(other.columns)
        call = self.choose((f"count({counted.name})", "count(*)", f"count(DISTINCT {counted.name})"))
        return f"((SELECT {call} FROM {other.sql} WHERE {where}) {self.choose(('=', '<', '>'))} {self.draw(st.integers(0, 3))})"

    def projected(self, depth):
        inner = self.relation(depth - 1)
        columns = [Column(self.name("c"), self.choose(TYPES)) for _ in range(self.draw(st.integers(1, 4)))]
        items = ", ".join(f"{self.expression(inner.columns, column.type)} AS {column.name}" for column in columns)
        return self.wrap(f"SELECT {self.choose(('', 'DISTINCT '))}{items} FROM {inner.sql}", columns)

    def joined(self, depth):
        left, right = self.relation(depth - 1), self.relation(self.draw(st.integers(0, depth - 1)))
        kind = self.choose(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN"))
        pairs = [(a, b) for a in left.columns for b in right.columns if a.type == b.type]
        condition = ""
        if kind != "CROSS JOIN":
            keys = [self.choose(pairs) for _ in range(self.draw(st.integers(1 if kind == "FULL JOIN" else 0, 2)))] if pairs else []
            equal = " AND ".join(f"{a.name} = {b.name}" for a, b in keys)
            rest = self.condition(left.columns + right.columns, 1) if kind != "FULL JOIN" and (not keys or self.draw(st.booleans())) else ""
            condition = " ON " + (" AND ".join(part for part in (equal, rest) if part) or "true")
        columns = left.columns + right.columns
        kept = [self.choose(columns) for _ in range(min(len(columns), 5))]
        return self.select(Relation(f"{left.sql} {kind} {right.sql}{condition}", tuple(dict.fromkeys(kept))))

    def aggregated(self, depth):
        inner = self.relation(depth - 1)
        keys = self.draw(st.lists(st.sampled_from(inner.columns), max_size=3, unique=True))
        columns = [Column(self.name("c"), key.type) for key in keys]
        items = [f"{key.name} AS {column.name}" for key, column in zip(keys, columns)]
        for _ in range(self.draw(st.integers(1, 3))):
            column, call = self.aggregate(inner.columns)
            columns.append(column)
            items.append(f"{call} AS {column.name}")
        group = f" GROUP BY {', '.join(key.name for key in keys)}" if keys else ""
        having = f" HAVING count(*) {self.choose(('>', '=', '<'))} {self.draw(st.integers(0, 3))}" if self.draw(st.integers(0, 3)) == 0 else ""
        return self.wrap(f"SELECT {', '.join(items)} FROM {inner.sql}{group}{having}", columns)

    def aggregate(self, scope):
        type_ = self.choose(TYPES)
        argument = self.expression(scope, type_, 1)
        only = f" FILTER (WHERE {self.condition(scope, 1)})" if self.draw(st.integers(0, 3)) == 0 else ""
        kind = self.choose(("count", "distinct", "min", "max", "sum", "sum_distinct", "bool"))
        name = self.name("c")
        if kind == "count":
            return Column(name, INT), f"(count({argument}){only})::int"
        if kind == "distinct":
            return Column(name, INT), f"(count(DISTINCT {argument}){only})::int"
        if kind in ("min", "max") and type_ != BOOL:
            return Column(name, type_), f"{kind}({argument}){only}"
        if kind == "bool":
            return Column(name, BOOL), f"{self.choose(('bool_and', 'bool_or'))}({self.condition(scope, 1)}){only}"
        distinct = "DISTINCT " if kind == "sum_distinct" else ""
        return Column(name, INT), f"(sum({distinct}{self.expression(scope, INT, 1)}){only} % 1000)::int"

    def combined(self, depth):
        left = self.relation(depth - 1)
        types = [column.type for column in left.columns]
        right = self.relation(self.draw(st.integers(0, depth - 1)))
        columns = [Column(self.name("c"), type_) for type_ in types]
        first = ", ".join(f"{old.name} AS {new.name}" for old, new in zip(left.columns, columns))
        second = ", ".join(self.expression(right.columns, type_, 0) for type_ in types)
        word = self.choose(("UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"))
        return self.wrap(f"SELECT {first} FROM {left.sql} {word} SELECT {second} FROM {right.sql}", columns)

    def limited(self, depth):
        """A total order, so that the rows kept are the same everywhere."""
        inner = self.relation(depth - 1)
        order = ", ".join(f"{column.name} {self.choose(('ASC', 'DESC'))} NULLS {self.choose(('FIRST', 'LAST'))}" for column in inner.columns)
        offset = f" OFFSET {self.draw(st.integers(0, 5))}" if self.draw(st.booleans()) else ""
        return self.select(inner, f" ORDER BY {order} LIMIT {self.draw(st.integers(0, 20))}{offset}")


@st.composite
def queries(draw, base, depth=3):
    """(letters of the answer's columns, SQL)"""
    relation = Generator(draw, base).relation(depth)
    names = ", ".join(column.name for column in relation.columns)
    return "".join(LETTERS[column.type] for column in relation.columns), f"SELECT {names} FROM {relation.sql}"


@st.composite
def scripts(draw):
    """Statements that make tables, and some queries over them."""
    statements, base = draw(tables())
    return statements, [draw(queries(base)) for _ in range(draw(st.integers(1, 4)))]
