"""Entity resolution on adversarial cases: pairwise precision and recall and B-cubed, beside three simple baselines.

    python benchmarks/identity.py [--part PART] [--by-tag] [--errors] [--ask DIR]

The cases are in `benchmarks/identity/*.json`: a few short documents each, the extraction rows that a good model would
write for them, and the gold entity of every row. Each case is a corpus of its own. There are two paths:

model   the rows and relations of the file, as a language model would extract them
parser  the rows of our extractor without a model, read from the texts; a row counts if its name is that of a gold row
        of the same document, or differs from only one in titles

The cases are in ten parts. `open` and `held-out` were made together, `fresh` and `fresh-blind` later; `unseen` and
then `unseen-2` to `unseen-5` were written before the rules were read or changed; each was resolved once and opened
after that (the blind figures of `unseen-5` are precision .97 and recall .79 with `same`). `--errors` shows no held-out
or blind case; they estimate how the rules do on unseen ones. Intervals are 95% by bootstrap over cases.

same name         one entity for each normalised name
same name, type   one entity for each normalised name and type
cosine > .9       names whose vectors of the static name embedder have a cosine above .9, and names linked by such names
resolver          polygraph.extract.resolution with the name embedder, as in a build
resolver, same    the same with a model that answers the task `same`, as in a build that a model extracts
ceiling           the same with a model that answers every pair as the gold entities do: what is not asked is missing

`--ask DIR` writes prompts that have no recorded reply to ``DIR/prompts.jsonl``, without the gold: those of the part
that `--part` names, else those of the parts whose errors may be looked at. Of a part these are first the lists of names
(`suggest_same`), and once all of them have a reply, the pairs (`same`), also those that the lists suggest. The lists
are made over all cases of a part, as if they were one collection: names of several cases stand in one list, and what is
suggested of two cases is wrong. `identity/list_replies.jsonl` and `identity/same_replies.jsonl` hold the replies of a
strong model that saw only the prompts, by what stands below the instructions, whose wording was different for some.
Without a reply, nothing is suggested and pairs stay undecided; how many lists and pairs have none is printed.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polygraph.extract.nlp.extractor import extract
from polygraph.extract.resolution.names.name_parts import split_name
from polygraph.extract.resolution.records import Mention, NameRelation, PairDecision, Resolution, ResolvedRows
from polygraph.extract.resolution.resolve import resolve
from polygraph.extract.resolution.suggestions.name_blocks import lists_of
from polygraph.extract.resolution.suggestions.name_lists import LISTED, ListedName
from polygraph.indexing.same_entities import apply_answers, choose_pairs
from polygraph.indexing.suggested_pairs import line_of, pairs_of
from polygraph.models.protocols import ChatRequest
from polygraph.models.providers.static import WordLlamaEmbedder
from polygraph.records import Chunk, Window, digest
from polygraph.tasks.indexing.same import PAIRS_PER_CALL, NameInContext, parse_same, same_request
from polygraph.tasks.indexing.suggest_same import NAMES_PER_CALL, parse_groups, suggest_same_request
from polygraph.text.normalize import normalize_name
from polygraph.text.surroundings import around

CASES = Path(__file__).parent / "identity"
RESAMPLES = 2_000
MIN_COSINE = 0.9
MAX_PAIRS = 200
"""Pairs that a build asks about at most."""
PARTS = (
    *("open", "held-out", "fresh", "fresh-blind", "unseen", "unseen-2", "unseen-3", "unseen-4", "unseen-5"),
    "unseen-6",
)
SEEN = (
    "open",
    "fresh",
    "unseen",
    "unseen-2",
    "unseen-3",
    "unseen-4",
    "unseen-5",
)  # whose errors may be looked at
COLUMNS = ("pair P", "pair R", "pair F1", "B3 P", "B3 R", "B3 F1")


@dataclass(frozen=True)
class Scored:
    """The mentions of a case with their gold entities."""

    case: dict[str, Any]
    mentions: list[Mention]
    gold: list[str]
    relations: list[NameRelation]
    by_model: bool
    suggested: set[tuple[int, int]] = field(default_factory=set)
    """Pairs of its entities, by position, that the recorded replies about lists take for one."""


Clustering = Callable[[Scored], list[str]]
Answers: TypeAlias = dict[tuple[str, str], bool | None]
"""Answers about pairs of entities."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=[*PARTS, "all"], default="all")
    parser.add_argument(
        "--by-tag", action="store_true", help="a row of the resolver for each tag of the cases"
    )
    parser.add_argument(
        "--errors", action="store_true", help="wrong pairs of the resolver in open and fresh cases"
    )
    parser.add_argument(
        "--no-lists", dest="lists", action="store_false", help="without what replies about lists suggest"
    )
    parser.add_argument("--ask", type=Path, metavar="DIR", help="write the prompts without a reply instead")
    options = parser.parse_args()
    if options.ask:
        write_prompts(options.ask, options.part)
        return
    cases = list(read_cases(options.part))
    systems = clusterings(WordLlamaEmbedder())
    n_gold = sum(len(document["entities"]) for case in cases for document in case["documents"])
    for path, read in (("model", model_path), ("parser", parser_path)):
        rows = [read(case) for case in cases]
        n_mentions = sum(map(bool, (gold for row in rows for gold in row.gold)))
        print(f"\n{path} path: {len(cases)} cases, {n_mentions} of {n_gold} mentions")
        print("| | " + " | ".join(COLUMNS) + " |\n|" + "---|" * (len(COLUMNS) + 1))
        for name, cluster in systems.items():
            print(table_row(name, counts(rows, cluster)))
        for part in PARTS:
            some = [row for row in rows if row.case["part"] == part]
            if 0 < len(some) < len(rows):
                print(table_row(f"resolver, {part} ({len(some)})", counts(some, systems["resolver"])))
        if path == "model":
            for part in PARTS:
                some = [row for row in rows if row.case["part"] == part]
                if some and options.lists:
                    print_lists(some, part)
                n_pairs, n_unanswered = questions_of(some)
                if some and n_unanswered < n_pairs:
                    name = f"resolver, same, {part} ({len(some)}, {n_pairs} asked, {n_unanswered} unanswered)"
                    print(table_row(name, counts(some, with_answers)))
                if some:
                    name = f"ceiling, {part} ({len(some)}, {n_pairs} asked)"
                    print(table_row(name, counts(some, with_right_answers)))
            print_shares([row for row in rows if row.case["part"] in SEEN])
            closed = [row for row in rows if row.case["part"] not in SEEN]
            if closed and options.lists:
                print(gain_row(closed))
        if options.by_tag:
            for tag, n in sorted(Counter(tag for case in cases for tag in case["tags"]).items()):
                some = [row for row in rows if tag in row.case["tags"]]
                print(table_row(f"{tag} ({n})", counts(some, systems["resolver"])))
        if options.errors:
            print_errors([row for row in rows if row.case["part"] in SEEN], systems["resolver"])


def read_cases(part: str) -> Iterator[dict[str, Any]]:
    """Yield the cases of a part, in the order of the files, each with its ``part``."""
    for path in sorted(CASES.glob("*.json")):
        for case in json.loads(path.read_text(encoding="utf-8"))["cases"]:
            case.setdefault("part", "held-out" if case.get("held_out") else "open")
            if part in ("all", case["part"]):
                yield case


def model_path(case: dict[str, Any]) -> Scored:
    """Return the rows of the file as mentions."""
    mentions, gold, relations = [], [], []
    for document in case["documents"]:
        relations += [NameRelation(window=f"{document['id']}@0", **row) for row in document["relations"]]
        for row in document["entities"]:
            mentions.append(
                Mention(
                    document=document["id"],
                    window=f"{document['id']}@0",
                    name=row["name"],
                    type=row["type"],
                    description=row["description"],
                )
            )
            gold.append(row["entity"])
    return Scored(case, mentions, gold, relations, by_model=True)


def parser_path(case: dict[str, Any]) -> Scored:
    """Return the rows of the extractor without a model; rows that match no gold row are resolved but not scored."""
    documents = case["documents"]
    mentions, gold = [], []
    for document, found in zip(documents, extract([window(d) for d in documents], processes=1), strict=True):
        for row in found.entities:
            mentions.append(
                Mention(
                    document=document["id"],
                    window=found.window,
                    name=row.name,
                    type=row.type,
                    description=row.description,
                )
            )
            gold.append(gold_entity(row.name, document["entities"]))
    return Scored(case, mentions, gold, [], by_model=False)


def window(document: dict[str, Any]) -> Window:
    """Return a document as one window."""
    text = document["text"]
    chunk = Chunk(
        id=f"{document['id']}:0",
        document=document["id"],
        ordinal=0,
        start=0,
        end=len(text),
        text=text,
        n_tokens=len(text) // 4,
    )
    return Window(
        id=f"{document['id']}@0", document=document["id"], ordinal=0, title="", chunks=(chunk,), text=text
    )


def gold_entity(name: str, rows: Sequence[dict[str, Any]]) -> str:
    """Return the gold entity of a name in a document, or an empty string."""
    by_key = {normalize_name(row["name"]): row["entity"] for row in rows}
    if normalize_name(name) in by_key:
        return str(by_key[normalize_name(name)])
    base = split_name(name).base
    fitting = {row["entity"] for row in rows if split_name(row["name"]).base == base}
    return str(fitting.pop()) if len(fitting) == 1 else ""


def clusterings(embedder: WordLlamaEmbedder) -> dict[str, Clustering]:
    """Return the compared systems; each gives one label per mention."""

    def embed(names: Sequence[str]) -> NDArray[np.float32]:
        return embedder.embed(names, "name")

    def by_cosine(row: Scored) -> list[str]:
        names = sorted({m.name for m in row.mentions})
        vectors = embed(names)
        label = list(range(len(names)))
        for i, j in zip(*np.nonzero(np.triu(vectors @ vectors.T > MIN_COSINE, 1)), strict=True):
            a, b = label[i], label[j]
            label = [min(a, b) if x in (a, b) else x for x in label]
        return [str(label[names.index(m.name)]) for m in row.mentions]

    def by_resolver(row: Scored) -> list[str]:
        found = resolved(row)
        return [found.entity_of[m.window, m.name] for m in row.mentions]

    return {
        "same name": lambda row: [normalize_name(m.name) for m in row.mentions],
        "same name, type": lambda row: [f"{normalize_name(m.name)}\n{m.type}" for m in row.mentions],
        "cosine > .9": by_cosine,
        "resolver": by_resolver,
    }


def resolved(row: Scored, *, asks: bool = False, listed: list[ListedName] | None = None) -> Resolution:
    """Return the entities of a case, by the rules.

    Args:
        row: the case.
        asks: whether a model is asked about the doubtful ones, also those that replies about lists suggest.
        listed: gets the entities that stand in lists.
    """
    embedder = _embedder()

    def suggest(names: Sequence[ListedName]) -> set[tuple[int, int]]:
        if listed is not None:
            listed.extend(names)
        return row.suggested

    return resolve(
        row.mentions,
        embed=lambda names: embedder.embed(names, "name"),
        relations=row.relations,
        by_model=row.by_model,
        asks=asks,
        suggest=suggest,
    )


@cache
def _embedder() -> WordLlamaEmbedder:
    return WordLlamaEmbedder()


def rows_of(found: Resolution) -> ResolvedRows:
    """Return the entities of a case as a build has them."""
    ids = sorted(set(found.entity_of.values()))
    entity = np.array([ids.index(each) for each in found.entity_of.values()], dtype=np.int32)
    return ResolvedRows(ids=ids, entity=entity, merges=found.merges, splits=found.splits, pairs=found.pairs)


def print_shares(rows: Sequence[Scored]) -> None:
    """Print how many pairs of each rule are one entity, of those that are asked about."""
    of_rule: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for row in rows:
        for pair, same in right_answers(row, resolved(row, asks=True)):
            of_rule[pair.decision, pair.rule].append(same)
    print("\n| pairs that opened cases ask about | pairs | one entity |\n|---|---|---|")
    for (decision, rule), each in sorted(of_rule.items()):
        print(f"| {decision}, {rule} | {len(each)} | {sum(each) / len(each):.2f} |")


def requests(
    row: Scored, found: Resolution, answers: Answers
) -> list[tuple[list[PairDecision], ChatRequest]]:
    """Return the pairs that `same` is asked about after some answers and the requests, as in a build."""
    texts = {document["id"]: document["text"] for document in row.case["documents"]}

    def shown(entity: str) -> NameInContext:
        mentions = [m for m in row.mentions if found.entity_of[m.window, m.name] == entity]
        names = [(m.document, m.name) for m in {m.document: m for m in reversed(mentions)}.values()][::-1]
        return NameInContext(
            name=mentions[0].name,
            type=mentions[0].type,
            document=mentions[0].document,
            descriptions=tuple(dict.fromkeys(m.description for m in mentions if m.description)),
            other_names=tuple(dict.fromkeys(name for _, name in names if name != names[0][1])),
            passages=tuple(dict.fromkeys(filter(None, (around(texts[d], name) for d, name in names)))),
        )

    pairs = choose_pairs(rows_of(found), MAX_PAIRS, answers)
    groups = [pairs[at : at + PAIRS_PER_CALL] for at in range(0, len(pairs), PAIRS_PER_CALL)]
    return [
        (some, same_request([(shown(a), shown(b)) for a, b in (p.entities for p in some)])) for some in groups
    ]


@dataclass(frozen=True)
class ListOfNames:
    """A list of names of several cases, and the request about it."""

    names: list[tuple[Scored, int]]
    """Case and position among its entities that stand in lists."""
    asked: ChatRequest


def lists_over(rows: Sequence[Scored]) -> list[ListOfNames]:
    """Return the lists of some cases, made as if they were one collection.

    Documents are shown by codes that do not tell which case they are of.
    """
    owners: list[tuple[ListedName, Scored, int, str]] = []
    for row in rows:
        listed: list[ListedName] = []
        resolved(row, asks=True, listed=listed)
        descriptions = {(m.document, m.name): m.description for m in reversed(row.mentions) if m.description}
        for position, name in enumerate(listed):
            codes = {document: digest(row.case["id"], document)[:6] for document, _ in name.places}
            clues = (f"{c} {row.case['id']}" if c.startswith("document ") else c for c in name.clues)
            coded = replace(name, clues=frozenset(clues), places=tuple((codes[d], n) for d, n in name.places))
            text = next((descriptions[place] for place in name.places if place in descriptions), "")
            owners.append((coded, row, position, text))
    owners.sort(key=lambda owner: (owner[0].base, owner[0].places))
    found = []
    for each in lists_of([owner[0] for owner in owners], NAMES_PER_CALL):
        some = [owners[n] for n in each]
        asked = suggest_same_request([line_of(name, {name.places[0]: text}) for name, _, _, text in some])
        found.append(ListOfNames([(row, position) for _, row, position, _ in some], asked))
    return found


def add_suggestions(lists: Sequence[ListOfNames]) -> int:
    """Let cases have the pairs that the recorded replies about lists suggest; return how many are of two cases."""
    n_across = 0
    for some in lists:
        reply = replies().get(shown_in(some.asked))
        for a, b in pairs_of(parse_groups(reply, len(some.names))) if reply else ():
            (first, x), (second, y) = some.names[a], some.names[b]
            if first is second:
                first.suggested.add((x, y))
            else:
                n_across += 1
    return n_across


def print_lists(rows: Sequence[Scored], part: str) -> None:
    """Print what the replies about the lists of a part suggest, and add it to the cases.

    The last row is what lists could bring: if each pair of one entity that a list has were suggested and confirmed.
    """
    lists = lists_over(rows)
    ideal = {row.case["id"]: replace(row, suggested=set()) for row in rows}
    for some in lists:
        for (first, x), (second, y) in combinations(some.names, 2):
            if first is second:
                ideal[first.case["id"]].suggested.add((x, y))
    n_across = add_suggestions(lists)
    n_unanswered = sum(shown_in(some.asked) not in replies() for some in lists)
    pairs = [
        (same, pair.rule == LISTED)
        for row in rows
        for pair, same in right_answers(row, resolved(row, asks=True))
    ]
    n_new, n_right = sum(new for _, new in pairs), sum(new and same for same, new in pairs)
    n_all = sum(len(row.suggested) for row in rows) + n_across
    print(
        f"lists, {part}: {len(lists)} of {sum(len(some.names) for some in lists)} names, {n_unanswered} unanswered; "
        f"{n_all} pairs suggested, {n_across} of two cases; {n_new} asked about that no rule suggests, {n_right} one"
    )
    print(
        table_row(f"ceiling of lists, {part} ({len(rows)})", counts(list(ideal.values()), with_right_answers))
    )


def shown_in(asked: ChatRequest) -> str:
    """Return what a prompt shows below the instructions."""
    return asked.messages[-1].content


def write_prompts(folder: Path, part: str) -> None:
    """Write the prompts without a reply, as JSON lines with instructions; ``all`` leaves out closed parts.

    Those of a part are its lists, as long as one has no reply, and then the pairs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "prompts.jsonl").open("w", encoding="utf-8") as file:
        for each in [part] if part != "all" else SEEN:
            for asked in _unanswered([model_path(case) for case in read_cases(each)]):
                line = {"instructions": asked.messages[0].content, "prompt": shown_in(asked)}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _unanswered(rows: Sequence[Scored]) -> list[ChatRequest]:
    lists = lists_over(rows)
    if waiting := [some.asked for some in lists if shown_in(some.asked) not in replies()]:
        return waiting
    add_suggestions(lists)
    asked = [asked for row in rows for _, asked in with_recorded_answers(row, resolved(row, asks=True))[0]]
    return [each for each in asked if shown_in(each) not in replies()]


@cache
def replies() -> dict[str, str]:
    """Return the recorded replies by what their prompts show."""
    files = [CASES / "same_replies.jsonl", CASES / "list_replies.jsonl"]
    lines = [line for file in files if file.exists() for line in file.read_text("utf-8").splitlines()]
    return {row["prompt"]: row["reply"] for row in map(json.loads, lines)}


def questions_of(rows: Sequence[Scored]) -> tuple[int, int]:
    """Return how many pairs are asked about, and how many of them no recorded reply answers."""
    n_pairs = n_unanswered = 0
    for row in rows:
        for pairs, asked in with_recorded_answers(row, resolved(row, asks=True))[0]:
            n_pairs += len(pairs)
            n_unanswered += len(pairs) * (shown_in(asked) not in replies())
    return n_pairs, n_unanswered


def with_answers(row: Scored) -> list[str]:
    """Return the entities of a case after the recorded answers."""
    found = resolved(row, asks=True)
    return labels_of(row, found, with_recorded_answers(row, found)[1])


def with_recorded_answers(
    row: Scored, found: Resolution
) -> tuple[list[tuple[list[PairDecision], ChatRequest]], Answers]:
    """Return the pairs that `same` is asked about with the requests, as in a build, and the recorded answers."""
    answers: Answers = {}
    all_asked: list[tuple[list[PairDecision], ChatRequest]] = []
    while asked_now := requests(row, found, answers):
        all_asked += asked_now
        for pairs, asked in asked_now:
            reply = replies().get(shown_in(asked))
            verdicts = parse_same(reply, len(pairs)) if reply else [None] * len(pairs)
            answers |= zip((pair.entities for pair in pairs), verdicts, strict=True)
    return all_asked, answers


def with_right_answers(row: Scored) -> list[str]:
    """Return the entities of a case if every pair that is asked about were answered as most of its mentions are."""
    found = resolved(row, asks=True)
    right = right_answers(row, found)
    return labels_of(row, found, {pair.entities: same for pair, same in right})


def right_answers(row: Scored, found: Resolution) -> list[tuple[PairDecision, bool]]:
    """Return the pairs that are asked about, each with whether most of its mentions are of one gold entity."""
    gold: dict[str, Counter[str]] = defaultdict(Counter)
    for mention, entity in zip(row.mentions, row.gold, strict=True):
        gold[found.entity_of[mention.window, mention.name]][entity] += 1
    main = {entity: each.most_common(1)[0][0] for entity, each in gold.items()}
    right: dict[tuple[str, str], tuple[PairDecision, bool]] = {}
    answers: Answers = {}
    while chosen := choose_pairs(rows_of(found), MAX_PAIRS, answers):
        answers |= {pair.entities: main[pair.entities[0]] == main[pair.entities[1]] for pair in chosen}
        right |= {pair.entities: (pair, bool(answers[pair.entities])) for pair in chosen}
    return list(right.values())


def labels_of(row: Scored, found: Resolution, answers: Mapping[tuple[str, str], bool | None]) -> list[str]:
    """Return the entities of a case after some answers, as a build applies them."""
    after = apply_answers(rows_of(found), answers)
    label = {
        key: after.ids[number] for key, number in zip(found.entity_of, after.entity.tolist(), strict=True)
    }
    return [label[m.window, m.name] for m in row.mentions]


def counts(rows: Sequence[Scored], cluster: Clustering) -> NDArray[np.float64]:
    """Return for each case: right pairs, predicted pairs, gold pairs, B-cubed sums of P and R, mentions."""
    found = []
    for row in rows:
        labels = cluster(row)
        pairs = [(p, g) for p, g in zip(labels, row.gold, strict=True) if g]
        predicted, gold, both = (
            Counter(p for p, _ in pairs),
            Counter(g for _, g in pairs),
            Counter(pairs),
        )
        found.append(
            [
                sum(n * (n - 1) / 2 for n in both.values()),
                sum(n * (n - 1) / 2 for n in predicted.values()),
                sum(n * (n - 1) / 2 for n in gold.values()),
                sum(n * n / predicted[p] for (p, _), n in both.items()),
                sum(n * n / gold[g] for (_, g), n in both.items()),
                len(pairs),
            ]
        )
    return np.array(found, dtype=np.float64)


def scores(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the columns of the table from sums over cases, shape ``(..., 6)``."""
    right, predicted, gold, b3_precision, b3_recall, n = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        p, r = right / predicted, right / gold
        bp, br = b3_precision / n, b3_recall / n
        return np.stack([p, r, 2 * p * r / (p + r), bp, br, 2 * bp * br / (bp + br)], axis=-1)


def table_row(name: str, found: NDArray[np.float64]) -> str:
    """Return a row of the table: each score with its interval."""
    rng = np.random.default_rng(0)
    sample = rng.integers(len(found), size=(RESAMPLES, len(found)))
    middle = scores(found.sum(axis=0))
    low, high = np.nanpercentile(scores(found[sample].sum(axis=1)), [2.5, 97.5], axis=0)
    cells = (f"{m:.2f} ({a:.2f} to {b:.2f})" for m, a, b in zip(middle, low, high, strict=True))
    return f"| {name} | " + " | ".join(cells) + " |"


def gain_row(rows: Sequence[Scored]) -> str:
    """Return what the suggestions of lists add to each score with `same`, paired by case."""
    after = counts(rows, with_answers)
    before = counts([replace(row, suggested=set()) for row in rows], with_answers)
    sample = np.random.default_rng(0).integers(len(rows), size=(RESAMPLES, len(rows)))
    middle = scores(after.sum(axis=0)) - scores(before.sum(axis=0))
    gains = scores(after[sample].sum(axis=1)) - scores(before[sample].sum(axis=1))
    low, high = np.nanpercentile(gains, [2.5, 97.5], axis=0)
    cells = (f"{m:+.3f} ({a:+.3f} to {b:+.3f})" for m, a, b in zip(middle, low, high, strict=True))
    return f"| gain by lists, closed cases ({len(rows)}) | " + " | ".join(cells) + " |"


def print_errors(rows: Sequence[Scored], cluster: Clustering) -> None:
    """Print the wrongly merged and wrongly split names of each case."""
    for row in rows:
        labels = cluster(row)
        wrong: dict[str, set[str]] = defaultdict(set)
        mentions = [(m, p, g) for m, p, g in zip(row.mentions, labels, row.gold, strict=True) if g]
        for (a, p, g), (b, q, h) in combinations(mentions, 2):
            if (p == q) != (g == h):
                ends = sorted([f"{a.name} @ {a.document}", f"{b.name} @ {b.document}"])
                wrong["merged" if p == q else "split"].add(" | ".join(ends))
        for kind, pairs in wrong.items():
            print(f"{row.case['id']}: {kind}: {'; '.join(sorted(pairs))}")


if __name__ == "__main__":
    main()
