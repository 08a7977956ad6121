"""Typed triples from a dependency tree, with negation."""

from collections.abc import Callable
from dataclasses import dataclass, field

from polygraph.extract.nlp.dependency_trees import Sentence

MAX_TRIPLES = 40
"""Per sentence; the first ones are kept."""

_MAX_CONJUNCTS = 8
_RELATIVE = frozenset(["who", "which", "that", "whom", "whose"])
_SUBJECTS = frozenset(["nsubj", "nsubjpass", "csubj"])
_OBJECTS = frozenset(["dobj", "attr", "dative", "oprd", "obj"])
_HELPERS = frozenset(["aux", "auxpass"])

Triple = tuple[str, str, str]
"""Source, predicate, target; source and target are keys of entities."""


def find_triples(
    sentence: Sentence, token_keys: list[str], can_be: Callable[[str, str], bool]
) -> list[Triple]:
    """Return the triples of one sentence.

    Arcs used: subjects and objects with their conjuncts, prepositions with their objects, agents,
    predicate nouns and adjectives, open complements, appositions, participles and relative clauses,
    possessives. Predicates are lower case: the verb's lemma with particle and preposition (``land in``), the
    participle in a passive (``designed by``), ``be`` for copula and apposition, ``be partner of`` for a relational
    noun, and a leading ``not`` in a negated clause.

    Args:
        sentence: the parsed sentence.
        token_keys: for each token the key of its entity, or ``""``. A resolved pronoun has the key of its
            antecedent.
        can_be: whether an apposition can say that one key is the other: "Hull" in "Dock Road, Hull" says where.

    Returns:
        Distinct triples in the order of their verbs and nouns, without triples from an entity to itself.
    """
    tree = _DependencyTree(sentence, token_keys, can_be)
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
class _DependencyTree:
    sentence: Sentence
    token_keys: list[str]
    can_be: Callable[[str, str], bool]
    children: list[list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.children = [[] for _ in self.token_keys]
        for i, head in enumerate(self.sentence.heads):
            if head != i:
                self.children[head].append(i)

    # --- navigating the tree

    def children_with(self, node: int, *labels: str) -> list[int]:
        deps = self.sentence.deps
        return [c for c in self.children[node] if deps[c] in labels]

    def conjuncts(self, node: int) -> list[int]:
        """Return the node and its conjuncts, in order."""
        found, queue = [node], [node]
        while queue and len(found) < _MAX_CONJUNCTS:
            for child in self.children_with(queue.pop(0), "conj"):
                if self.sentence.pos[child] in ("NOUN", "PROPN", "PRON", "NUM", "X", "ADJ"):
                    found.append(child)
                    queue.append(child)
        return found

    def subjects(self, verb: int, depth: int = 0) -> list[int]:
        """Return the subject tokens of a verb, also where the clause leaves the subject out."""
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
            objects = self.children_with(head, "dobj", "dative")
            return self.conjuncts(objects[0]) if objects else self.subjects(head, depth + 1)
        if dep in ("advcl", "pcomp") and pos[head] in ("VERB", "AUX"):
            return self.subjects(head, depth + 1)
        return []

    def described(self, noun: int, depth: int) -> list[int]:
        """Return what the clause of a noun describes: in ``X is a film that ...`` it describes X."""
        deps, heads = self.sentence.deps, self.sentence.heads
        if deps[noun] == "attr" and depth <= 4:
            subjects = [s for s in self.subjects(heads[noun], depth + 1) if self.token_keys[s]]
            if subjects:
                return subjects
        if deps[noun] == "appos" and self.token_keys[heads[noun]]:
            return [heads[noun]]
        return [noun]

    def negated(self, verb: int) -> bool:
        if self.children_with(verb, "neg"):
            return True
        nouns = [
            c
            for c in self.children[verb]
            if self.sentence.deps[c] in _SUBJECTS or self.sentence.deps[c] in _OBJECTS
        ]
        return any(
            self.sentence.lemmas[d] in ("no", "neither") for n in nouns for d in self.children_with(n, "det")
        )

    def passive(self, verb: int) -> bool:
        return bool(self.children_with(verb, "auxpass", "nsubjpass", "agent")) or (
            self.sentence.deps[verb] == "acl"
            and self.sentence.words[verb].endswith(("ed", "en", "wn", "t", "de"))
        )

    def predicate(self, verb: int) -> str:
        """Return the predicate of a verb: negation, the verbs it depends on, the verb, its particle."""
        s = self.sentence
        word = s.words[verb].lower() if self.passive(verb) else s.lemmas[verb]
        parts = [word, *(s.lemmas[p] for p in self.children_with(verb, "prt")[:1])]
        negated, node = self.negated(verb), verb
        for _ in range(2):
            head = s.heads[node]
            if s.deps[node] != "xcomp" or head == node or s.pos[head] not in ("VERB", "AUX"):
                break
            infinitive = ["to"] if any(s.lemmas[c] == "to" for c in self.children_with(node, "aux")) else []
            parts = [s.lemmas[head], *infinitive, *parts]
            negated, node = negated or self.negated(head), head
        return " ".join((["not"] if negated else []) + parts)

    # --- building triples

    def clause(self, verb: int) -> list[Triple]:
        """Return the triples of a verb with its subject."""
        s = self.sentence
        if s.deps[verb] in _HELPERS:
            return []
        subjects = [self.token_keys[i] for i in self.subjects(verb) if self.token_keys[i]]
        base = self.predicate(verb)
        rows: list[Triple] = []
        objects = [c for c in self.children[verb] if s.deps[c] in _OBJECTS]
        if s.deps[verb] == "relcl" and not self.children_with(verb, "nsubjpass"):
            subject = [c for c in self.children[verb] if s.deps[c] in _SUBJECTS]
            if subject and s.lemmas[subject[0]] not in _RELATIVE:
                # ``the ship that Quill built``: the noun before the clause is the object.
                objects = [o for o in objects if s.lemmas[o] not in _RELATIVE] or [s.heads[verb]]
        for thing in objects:
            for one in self.conjuncts(thing):
                rows += [(subject, base, self.token_keys[one]) for subject in subjects]
                if s.deps[thing] == "attr" and s.lemmas[verb] == "be":
                    rows += self.kinship(verb, one)
            # ``open a review of the merger``: if the object is not an entity, use its complement.
            if not self.token_keys[thing] and s.deps[thing] == "dobj" and s.pos[thing] == "NOUN":
                through = f"{base} {s.lemmas[thing]}"
                rows += [(a, f"{through} {p}", b) for p, b in self.prepositional(thing) for a in subjects]
        for preposition, target in self.prepositional(verb):
            rows += [(subject, f"{base} {preposition}", target) for subject in subjects]
        for adjective in self.children_with(verb, "acomp"):
            for preposition, target in self.prepositional(adjective):
                phrase = f"{base} {s.lemmas[adjective]} {preposition}"
                rows += [(subject, phrase, target) for subject in subjects]
        return rows

    def prepositional(self, node: int) -> list[tuple[str, str]]:
        """Return pairs of preposition and object of a verb, adjective or noun, including ``out of``."""
        s = self.sentence
        found: list[tuple[str, str]] = []
        for prep in self.children_with(node, "prep", "agent", "dative"):
            if s.pos[prep] not in ("ADP", "SCONJ", "VERB"):
                continue
            word = s.lemmas[prep]
            nested = [(f"{word} {s.lemmas[inner]}", inner) for inner in self.children_with(prep, "prep")]
            for phrase, place in [(word, prep), *nested]:
                for target in self.children_with(place, "pobj"):
                    found += [
                        (phrase, self.token_keys[one])
                        for one in self.conjuncts(target)
                        if self.token_keys[one]
                    ]
            # ``in 1901 and at Bergen``: conjunction of two prepositions.
            for other in self.children_with(prep, "conj"):
                for target in self.children_with(other, "pobj"):
                    found += [
                        (s.lemmas[other], self.token_keys[one])
                        for one in self.conjuncts(target)
                        if self.token_keys[one]
                    ]
        return found

    def kinship(self, verb: int, one: int) -> list[Triple]:
        """Return triples of a possessed subject: ``His father was Saud`` gives ``Saud, be father of, he``."""
        s = self.sentence
        rows: list[Triple] = []
        if not self.token_keys[one] or s.pos[one] != "PROPN":
            return rows
        negation = "not " if self.negated(verb) else ""
        for subject in self.children_with(verb, "nsubj"):
            if s.pos[subject] != "NOUN":
                continue
            phrase = f"{negation}be {s.lemmas[subject]}"
            rows += [
                (self.token_keys[one], f"{phrase} of", self.token_keys[w])
                for w in self.children_with(subject, "poss")
            ]
            rows += [
                (self.token_keys[one], f"{phrase} {p}", target) for p, target in self.prepositional(subject)
            ]
        return rows

    def noun(self, noun: int) -> list[Triple]:
        """Return the triples of a noun: appositions, possessives, prepositions."""
        s = self.sentence
        rows: list[Triple] = []
        own_key = self.token_keys[noun]
        for other in self.children_with(noun, "appos"):
            named = [self.token_keys[one] for one in self.conjuncts(other) if not s.words[one][0].isdigit()]
            rows += [(own_key, "be", one) for one in named if self.can_be(own_key, one)]
        holders, negation = self.holders(noun)
        phrase = f"{negation}be {s.lemmas[noun]}"
        for whose in self.children_with(noun, "poss"):
            for one in self.conjuncts(whose):
                rows += [(h, f"{phrase} of", self.token_keys[one]) for h in holders]
                if not holders:
                    rows.append((self.token_keys[one], "have", own_key))
        # ``X is a 1951 American film``: X is a film of 1951.
        for part in self.children_with(noun, "nummod", "amod", "nmod", "compound"):
            if self.token_keys[part] and self.token_keys[part] != own_key:
                rows += [(h, f"{phrase} of", self.token_keys[part]) for h in holders]
        for preposition, target in self.prepositional(noun):
            rows += [(h, f"{phrase} {preposition}", target) for h in holders]
            if not holders and s.deps[noun] != "appos":
                rows.append((own_key, preposition, target))
        return rows

    def holders(self, noun: int) -> tuple[list[str], str]:
        """Return the keys that a predicate noun or apposition describes, and ``not `` if the copula is negated."""
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
            subjects = [self.token_keys[i] for i in self.subjects(head) if self.token_keys[i]]
            return subjects, "not " if self.negated(head) else ""
        if s.deps[node] == "appos" and self.token_keys[head]:
            return [self.token_keys[head]], ""
        return [], ""
