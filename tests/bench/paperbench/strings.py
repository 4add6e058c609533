"""What paper-fsst compresses: strings in kind of those that FSST and its GPU version are measured with, drawn, the same
each time."""

import random

from .fields import WORDS

PLACES = """Amsterdam Athens Bangkok Berlin Bogota Cairo Chicago Copenhagen Delhi Dublin Hanoi Istanbul Jakarta Kyiv Lagos Lima
Lisbon London Madrid Manila Mexico Montreal Mumbai Nairobi Oslo Paris Prague Quito Rome Santiago Seoul Sofia Sydney
Tokyo Toronto Vienna Warsaw Zagreb""".split()
NAMES = "anna ben carl dora emma fritz greta hans ines jan kira leo mia nils olga paul rosa sven tina uwe vera".split()
ACTORS = "USA GBR FRA DEU CHN RUS IND BRA GOV MIL BUS EDU MED POLICE PRESIDENT COURT VILLAGE COMPANY".split()


def comments(source):
    return " ".join(source.choices(WORDS, k=source.randrange(2, 9)))


def lineitem(source):
    quantity = source.randrange(1, 51)
    dates = "|".join(f"{source.randrange(1992, 1999)}-{source.randrange(1, 13):02}-{source.randrange(1, 29):02}"
                     for _ in range(3))
    return (f"{source.randrange(6000000)}|{source.randrange(200000)}|{source.randrange(10000)}|{source.randrange(1, 8)}|"
            f"{quantity}|{quantity * source.randrange(90000, 190000) / 100:.2f}|0.0{source.randrange(10)}|"
            f"0.0{source.randrange(9)}|{source.choice('NRA')}|{source.choice('OF')}|{dates}|"
            f"{source.choice(('DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN'))}|"
            f"{source.choice(('AIR', 'FOB', 'MAIL', 'RAIL', 'SHIP', 'TRUCK', 'REG AIR'))}|{comments(source)}|")


def gdelt(source):
    actors = (source.choice(ACTORS) for _ in range(2))
    place = source.choice(PLACES)
    return (f"{source.randrange(4 * 10**8, 5 * 10**8)}\t2015{source.randrange(1, 13):02}{source.randrange(1, 29):02}\t"
            + "\t".join(actors) + f"\t0{source.randrange(10, 20)}\t{source.randrange(-100, 100) / 10}\t"
            f"{source.randrange(1, 40)}\t{source.uniform(-10, 10):.13f}\t{place}\t{source.uniform(-60, 60):.4f}\t{urls(source)}")


def urls(source):
    words = "-".join(source.choices(WORDS, k=source.randrange(3, 8)))
    return (f"http://www.{source.choice(PLACES).lower()}{source.choice(('news', 'times', 'post', 'herald'))}.com/"
            f"{source.choice(('world', 'local', 'sport', 'story'))}/2015/{words}-{source.randrange(10**6)}.html")


def emails(source):
    return (f"{source.choice(NAMES)}.{source.choice(NAMES)}{source.randrange(100)}@"
            f"{source.choice(('gmail', 'yahoo', 'hotmail', 'mail'))}.com")


def cities(source):
    return f"{source.choice(PLACES)} {source.choice(('North', 'South', 'Old', 'New', 'Upper'))}"


def uuids(source):
    digits = f"{source.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def genome(source):
    return "".join(source.choices("acgt", k=100))


MAKERS = {"comments": (comments, "as TPC-H's comments"), "lineitem": (lineitem, "as TPC-H's lineitem, rows"),
          "gdelt": (gdelt, "as GDELT's events, rows"), "urls": (urls, "as DBText's urls"),
          "emails": (emails, "as DBText's email"), "cities": (cities, "as DBText's city"),
          "uuids": (uuids, "as DBText's uuid"), "genome": (genome, "as DBText's genome")}
KINDS = tuple(MAKERS)


def make(kind, size, work):
    """Writes lines of a kind, so many bytes. Returns the file, and what it is."""
    draw, what = MAKERS[kind]
    source, path, written = random.Random(kind), work / kind, 0
    with open(path, "w", encoding="ascii", newline="") as out:
        while written < size:
            line = draw(source) + "\n"
            written += out.write(line[:size - written])
    return path, what
