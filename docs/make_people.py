"""Make the example data set of people: records that nobody ever filed, with mistakes that are known.

    python docs/make_people.py src/pointwise/datasets/people

Names, streets and dates are drawn from short lists with a fixed seed, so that the same files come out everywhere.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

SEED = 20260101
PERSONS = 640

FIRST = [
    "Ada",
    "Agnes",
    "Alma",
    "Anton",
    "Arno",
    "Astrid",
    "Bela",
    "Berta",
    "Carl",
    "Clara",
    "Dora",
    "Edgar",
    "Elsa",
    "Emil",
    "Ester",
    "Felix",
    "Frieda",
    "Georg",
    "Greta",
    "Hanna",
    "Hugo",
    "Ida",
    "Ilse",
    "Ivar",
    "Jakob",
    "Jutta",
    "Karin",
    "Klaus",
    "Lea",
    "Linus",
    "Lotte",
    "Magda",
    "Marek",
    "Mira",
    "Nils",
    "Nora",
    "Olga",
    "Oskar",
    "Paula",
    "Pavel",
    "Rosa",
    "Ruben",
    "Silvia",
    "Sven",
    "Tilda",
    "Tomas",
    "Ulla",
    "Vera",
    "Viktor",
    "Wanda",
]
LAST = [
    "Abendroth",
    "Birkholm",
    "Castellan",
    "Dornfeld",
    "Ehrenbach",
    "Falkenau",
    "Grauwald",
    "Hollerbeck",
    "Immerthal",
    "Jungstein",
    "Kaltwasser",
    "Lindgruen",
    "Morgenau",
    "Niederfels",
    "Oberlack",
    "Pfauenau",
    "Querfurth",
    "Rosenquell",
    "Silberbach",
    "Tannwerder",
    "Uhlenried",
    "Vogelsand",
    "Weidenbruch",
    "Yserwald",
    "Zeisigau",
]
STREETS = [
    "Acorn",
    "Badger",
    "Cedar",
    "Dune",
    "Elder",
    "Fern",
    "Gorse",
    "Heron",
    "Iris",
    "Juniper",
    "Kestrel",
    "Larch",
    "Maple",
    "Nettle",
    "Otter",
    "Pine",
]
CITIES = ["Aldersund", "Brockmouth", "Cranfield", "Dunmarsh", "Eastwick", "Fallowby"]
SOURCES = ("register", "shop", "library")


@dataclass(frozen=True)
class Record:
    """A record about a person."""

    person: int
    name: str
    street: str
    city: str
    born: dt.date | None
    source: str


@dataclass
class World:
    """All records, what the clustering makes of them, and what is wrong with it."""

    random: Random
    records: list[Record] = field(default_factory=list)
    clusters: list[str] = field(default_factory=list)
    planted: list[dict[str, str]] = field(default_factory=list)
    persons: int = 0
    groups: int = 0

    def person(self, **known: object) -> Record:
        """Think up a person."""
        self.persons += 1
        day = dt.date(1930, 1, 1) + dt.timedelta(days=self.random.randrange(27_000))
        drawn = Record(
            self.persons,
            f"{self.random.choice(FIRST)} {self.random.choice(LAST)}",
            f"{self.random.randrange(1, 99)} {self.random.choice(STREETS)} Street",
            self.random.choice(CITIES),
            day,
            "",
        )
        return replace(drawn, **known)

    def file(self, person: Record, number: int, cluster: str) -> None:
        """File some records of a person under a cluster, as several sources would write them."""
        for _ in range(number):
            self.records.append(replace(person, source=self.random.choice(SOURCES)))
            self.clusters.append(cluster)

    def cluster(self) -> str:
        """Begin a cluster."""
        self.groups += 1
        return f"c{self.groups:04d}"

    def plant(self, kind: str, cluster: str, why: str) -> None:
        """Note a mistake."""
        self.planted.append({"kind": kind, "cluster": cluster, "why": why})


def person_id(person: Record) -> str:
    """Name an ideal cluster."""
    return f"p{person.person:04d}"


def plant_placeholder(world: World) -> None:
    """Put forty people into one cluster because all of them were filed under the same placeholder."""
    cluster = world.cluster()
    for _ in range(40):
        person = world.person(street="General Delivery", born=dt.date(1900, 1, 1))
        world.file(person, world.random.choice((1, 1, 2)), cluster)
    world.plant("over-merge", cluster, "a placeholder for the street and the date of birth")


def plant_namesakes(world: World) -> None:
    """Take a parent and a child of the same name at the same address for one."""
    for _ in range(10):
        cluster, parent = world.cluster(), world.person(born=None)
        year = world.random.randrange(1935, 1960)
        for born in (dt.date(year, 5, 17), dt.date(year + 28, 11, 3)):
            world.file(world.person(name=parent.name, street=parent.street, city=parent.city, born=born), 3, cluster)
        world.plant("over-merge", cluster, "namesakes at one address, born 28 years apart")


def split(world: World, why: str, change: dict[str, object]) -> None:
    """File a person under two clusters, because something about the records differs."""
    person = world.person()
    world.file(person, 3, world.cluster())
    world.file(replace(person, **change), 2, world.cluster())
    world.plant("under-merge", person_id(person), why)


def plant_splits(world: World) -> None:
    """Take one person for two after a wedding, a move, or a slip of the pen."""
    for n in range(12):
        split(world, "moved to another city", {"street": f"{90 + n} Harbour Road", "city": "Northhaven"})
    for _ in range(8):
        wed = f"{world.random.choice(FIRST)} {world.random.choice(LAST)}-Hart"
        split(world, "another name after a wedding", {"name": wed})
    for _ in range(8):
        split(world, "day and month of birth swapped", {"born": dt.date(1961, 4, 9)})


def plant_faxes(world: World) -> None:
    """Leave every faxed record without a date of birth alone."""
    for _ in range(60):
        person = world.person()
        world.file(person, 2, world.cluster())
        world.records.append(replace(person, born=None, source="fax"))
        world.clusters.append(world.cluster())
        world.plant("under-merge", person_id(person), "a faxed record without a date of birth")


def make() -> World:
    """Make all records: those with planted mistakes, and many without."""
    world = World(Random(SEED))  # noqa: S311  # nothing here is a secret
    for plant in (plant_placeholder, plant_namesakes, plant_splits, plant_faxes):
        plant(world)
    while world.persons < PERSONS:
        world.file(world.person(), world.random.choice((1, 2, 3, 4, 6)), world.cluster())
    return world


def tables(world: World) -> Iterator[tuple[str, pa.Table]]:
    """Lay the records out as tables, in an order that tells nothing."""
    order = list(range(len(world.records)))
    world.random.shuffle(order)
    records = [world.records[n] for n in order]
    items = [f"r{n:04d}" for n in range(1, len(order) + 1)]
    names = ("name", "street", "city", "born", "source")
    yield "truth", pa.table({"item": items, "cluster": [person_id(record) for record in records]})
    yield "clusters", pa.table({"item": items, "cluster": [world.clusters[n] for n in order]})
    yield "records", pa.table({"item": items} | {name: [getattr(r, name) for r in records] for name in names})
    yield "planted", pa.Table.from_pylist(world.planted)


def main(folder: Path) -> None:
    """Write the tables."""
    for name, table in tables(make()):
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
