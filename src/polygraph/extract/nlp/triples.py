"""Typed triples from a dependency tree: who does what to whom, with negation kept."""

from dataclasses import dataclass, field

from polygraph.extract.nlp.dependency_trees import Sentence

MAX_TRIPLES = 40
"""Per sentence; longer lists are kept in the order in which they were found."""

_MAX_CONJUNCTS = 8
_RELATIVE = frozenset(["who", "which", "that", "whom", "whose"])
_SUBJECTS = frozenset(["nsubj", "nsubjpass", "csubj"])
_OBJECTS = frozenset(["dobj", "attr", "dative", "oprd", "obj"])
_HELPERS = frozenset(["aux", "auxpass"])

Triple = tuple[str, str, str]
"""Source, predicate, target; source and target are keys of entities."""


def triples(sentence: Sentence, owner: list[str]) -> list[Triple]:
    """Read the triples off one sentence.

    Arcs used: subjects and objects with their conjuncts, prepositions with their objects, agents,
    predicate nouns and adjectives, open complements, appositions, participles and relative clauses,
    possessives. Predicates are lower case: the verb's lemma with particle and preposition (``land in``), the
    participle in a passive (``designed by``), ``be`` for copula and apposition, ``be partner of`` for a noun
    that relates, a leading ``not`` where the clause is negated.

    Args:
        sentence: the parsed sentence.
        owner: per token, the key of the entity that it stands for, or ``""``. A pronoun that was
            resolved carries the key of its antecedent.

    Returns:
        Distinct triples in the order of their verbs and nouns; never from an entity to itself.
    """
    tree = _Tree(sentence, owner)
    found: dict[Triple, None] = {}
    for i, pos in enumerate(sentence.pos):
        if pos in ("VERB", "AUX"):
            rows = tree.clause(i)
        elif pos in ("NOUN", "PROPN"):
            rows = tree.noun(i)
        else:
            continue
        for source, predicate, target in rows:
            if source and target and source != target and len(predicate) <= 80:
                found.setdefault((source, predicate, target))
        if len(found) >= MAX_TRIPLES:
            break
    return list(found)[:MAX_TRIPLES]


@dataclass(slots=True)
class _Tree:
    sentence: Sentence
    owner: list[str]
    children: list[list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.children = [[] for _ in self.owner]
        for i, head in enumerate(self.sentence.heads):
            if head != i:
                self.children[head].append(i)

    # --- reading the tree

    def kids(self, node: int, *labels: str) -> list[int]:
        deps = self.sentence.deps
        return [c for c in self.children[node] if deps[c] in labels]

    def conjuncts(self, node: int) -> list[int]:
        """The node and what is joined to it by ``and`` or ``or``, in order."""
        found, queue = [node], [node]
        while queue and len(found) < _MAX_CONJUNCTS:
            for child in self.kids(queue.pop(0), "conj"):
                if self.sentence.pos[child] in ("NOUN", "PROPN", "PRON", "NUM", "X", "ADJ"):
                    found.append(child)
                    queue.append(child)
        return found

    def subjects(self, verb: int, depth: int = 0) -> list[int]:
        """Tokens that are the subject of a verb, also where the clause leaves it out."""
        deps, heads, pos = self.sentence.deps, self.sentence.heads, self.sentence.pos
        own = [c for c in self.children[verb] if deps[c] in _SUBJECTS]
        head, dep = heads[verb], deps[verb]
        if own:
            first = own[0]
            if dep == "relcl" and self.sentence.lemmas[first] in _RELATIVE:
                return self.described(head, depth)
            return self.conjuncts(first)
        if depth > 4 or head == verb:
            return []
        if dep == "conj" and pos[head] in ("VERB", "AUX"):
            return self.subjects(head, depth + 1)
        if dep in ("acl", "relcl"):
            return self.described(head, depth)
        if dep == "xcomp":
            objects = self.kids(head, "dobj", "dative")
            return self.conjuncts(objects[0]) if objects else self.subjects(head, depth + 1)
        if dep in ("advcl", "pcomp") and pos[head] in ("VERB", "AUX"):
            return self.subjects(head, depth + 1)
        return []

    def described(self, noun: int, depth: int) -> list[int]:
        """What a noun with a clause stands for: in ``X is a film that ...`` the clause is about X."""
        deps, heads = self.sentence.deps, self.sentence.heads
        if deps[noun] == "attr" and depth <= 4:
            subjects = [s for s in self.subjects(heads[noun], depth + 1) if self.owner[s]]
            if subjects:
                return subjects
        if deps[noun] == "appos" and self.owner[heads[noun]]:
            return [heads[noun]]
        return [noun]

    def negated(self, verb: int) -> bool:
        if self.kids(verb, "neg"):
            return True
        nouns = [
            c
            for c in self.children[verb]
            if self.sentence.deps[c] in _SUBJECTS or self.sentence.deps[c] in _OBJECTS
        ]
        return any(self.sentence.lemmas[d] in ("no", "neither") for n in nouns for d in self.kids(n, "det"))

    def passive(self, verb: int) -> bool:
        return bool(self.kids(verb, "auxpass", "nsubjpass", "agent")) or (
            self.sentence.deps[verb] == "acl"
            and self.sentence.words[verb].endswith(("ed", "en", "wn", "t", "de"))
        )

    def predicate(self, verb: int) -> str:
        """The verb as a predicate: negation, the verbs it depends on, itself, its particle."""
        s = self.sentence
        word = s.words[verb].lower() if self.passive(verb) else s.lemmas[verb]
        parts = [word, *(s.lemmas[p] for p in self.kids(verb, "prt")[:1])]
        negated, node = self.negated(verb), verb
        for _ in range(2):
            head = s.heads[node]
            if s.deps[node] != "xcomp" or head == node or s.pos[head] not in ("VERB", "AUX"):
                break
            joint = ["to"] if any(s.lemmas[c] == "to" for c in self.kids(node, "aux")) else []
            parts = [s.lemmas[head], *joint, *parts]
            negated, node = negated or self.negated(head), head
        return " ".join((["not"] if negated else []) + parts)

    # --- making triples

    def clause(self, verb: int) -> list[Triple]:
        """Triples of a verb with its subject."""
        s = self.sentence
        if s.deps[verb] in _HELPERS:
            return []
        subjects = [self.owner[i] for i in self.subjects(verb) if self.owner[i]]
        base = self.predicate(verb)
        rows: list[Triple] = []
        objects = [c for c in self.children[verb] if s.deps[c] in _OBJECTS]
        if s.deps[verb] == "relcl" and not self.kids(verb, "nsubjpass"):
            subject = [c for c in self.children[verb] if s.deps[c] in _SUBJECTS]
            if subject and s.lemmas[subject[0]] not in _RELATIVE:
                # ``the ship that Quill built``: the noun before the clause is its object.
                objects = [o for o in objects if s.lemmas[o] not in _RELATIVE] or [s.heads[verb]]
        for thing in objects:
            for one in self.conjuncts(thing):
                rows += [(subject, base, self.owner[one]) for subject in subjects]
                if s.deps[thing] == "attr" and s.lemmas[verb] == "be":
                    rows += self.kinship(verb, one)
            # ``open a review of the merger``: what the object is about, when the object says nothing itself.
            if not self.owner[thing] and s.deps[thing] == "dobj" and s.pos[thing] == "NOUN":
                through = f"{base} {s.lemmas[thing]}"
                rows += [(a, f"{through} {p}", b) for p, b in self.prepositional(thing) for a in subjects]
        for preposition, target in self.prepositional(verb):
            rows += [(subject, f"{base} {preposition}", target) for subject in subjects]
        for adjective in self.kids(verb, "acomp"):
            for preposition, target in self.prepositional(adjective):
                phrase = f"{base} {s.lemmas[adjective]} {preposition}"
                rows += [(subject, phrase, target) for subject in subjects]
        return rows

    def prepositional(self, node: int) -> list[tuple[str, str]]:
        """Pairs of preposition and object below a verb, adjective or noun, one level deep in ``out of``."""
        s = self.sentence
        found: list[tuple[str, str]] = []
        for prep in self.kids(node, "prep", "agent", "dative"):
            if s.pos[prep] not in ("ADP", "SCONJ", "VERB"):
                continue
            word = s.lemmas[prep]
            nested = [(f"{word} {s.lemmas[inner]}", inner) for inner in self.kids(prep, "prep")]
            for phrase, place in [(word, prep), *nested]:
                for target in self.kids(place, "pobj"):
                    found += [(phrase, self.owner[one]) for one in self.conjuncts(target) if self.owner[one]]
            # ``in 1901 and at Bergen``: a second preposition joined to the first.
            for other in self.kids(prep, "conj"):
                for target in self.kids(other, "pobj"):
                    found += [
                        (s.lemmas[other], self.owner[one])
                        for one in self.conjuncts(target)
                        if self.owner[one]
                    ]
        return found

    def kinship(self, verb: int, one: int) -> list[Triple]:
        """``His father was Saud``: Saud is father of him, when the subject noun is someone's."""
        s = self.sentence
        rows: list[Triple] = []
        if not self.owner[one] or s.pos[one] != "PROPN":
            return rows
        negation = "not " if self.negated(verb) else ""
        for subject in self.kids(verb, "nsubj"):
            if s.pos[subject] != "NOUN":
                continue
            phrase = f"{negation}be {s.lemmas[subject]}"
            rows += [(self.owner[one], f"{phrase} of", self.owner[w]) for w in self.kids(subject, "poss")]
            rows += [(self.owner[one], f"{phrase} {p}", target) for p, target in self.prepositional(subject)]
        return rows

    def noun(self, noun: int) -> list[Triple]:
        """Triples that a noun carries: apposition, what it belongs to, what it is of."""
        s = self.sentence
        rows: list[Triple] = []
        mine = self.owner[noun]
        for other in self.kids(noun, "appos"):
            named = [one for one in self.conjuncts(other) if not s.words[one][0].isdigit()]
            rows += [(mine, "be", self.owner[one]) for one in named]
        holders, negation = self.holders(noun)
        phrase = f"{negation}be {s.lemmas[noun]}"
        for whose in self.kids(noun, "poss"):
            for one in self.conjuncts(whose):
                rows += [(h, f"{phrase} of", self.owner[one]) for h in holders]
                if not holders:
                    rows.append((self.owner[one], "have", mine))
        # ``X is a 1951 American film``: of 1951, of American make.
        for part in self.kids(noun, "nummod", "amod", "nmod", "compound"):
            if self.owner[part] and self.owner[part] != mine:
                rows += [(h, f"{phrase} of", self.owner[part]) for h in holders]
        for preposition, target in self.prepositional(noun):
            rows += [(h, f"{phrase} {preposition}", target) for h in holders]
            if not holders and s.deps[noun] != "appos":
                rows.append((mine, preposition, target))
        return rows

    def holders(self, noun: int) -> tuple[list[str], str]:
        """Whom a predicate noun or an apposition describes (keys), and ``not `` if the copula is negated."""
        s = self.sentence
        node = noun
        for _ in range(3):
            if s.deps[node] != "conj":
                break
            node = s.heads[node]
        head = s.heads[node]
        if s.pos[noun] != "NOUN":
            return [], ""
        if s.deps[node] == "attr" and s.lemmas[head] in ("be", "become", "remain"):
            subjects = [self.owner[i] for i in self.subjects(head) if self.owner[i]]
            return subjects, "not " if self.negated(head) else ""
        if s.deps[node] == "appos" and self.owner[head]:
            return [self.owner[head]], ""
        return [], ""
