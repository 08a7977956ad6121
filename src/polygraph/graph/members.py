"""What each community holds: entities, the relations among them, and its parts."""

from collections import defaultdict
from collections.abc import Sequence

from polygraph.graph.view import GraphView
from polygraph.records import Community, Entity, Relation


class Members:
    """The graph as seen from its communities. Built once for all of them."""

    def __init__(self, communities: Sequence[Community], view: GraphView) -> None:
        self._entities = {entity.id: entity for entity in view.entities}
        self.parts: dict[str, list[Community]] = defaultdict(list)
        """Communities that one was divided in, by its id, sorted by their first entity."""
        self.strength: dict[str, float] = dict.fromkeys(self._entities, 0.0)
        """Sum of the weights of an entity's relations, by its id."""
        paths: dict[str, list[str]] = defaultdict(list)
        for community in sorted(communities, key=lambda c: (c.level, c.entities)):
            if community.parent:
                self.parts[community.parent].append(community)
            for entity in community.entities:
                paths[entity].append(community.id)
        # A relation is kept at the deepest community that holds both ends; those above find it there.
        self._relations: dict[str, list[Relation]] = defaultdict(list)
        for relation in view.relations:
            self.strength[relation.source] += relation.weight
            self.strength[relation.target] += relation.weight
            last = None
            for a, b in zip(paths[relation.source], paths[relation.target], strict=False):
                if a != b:
                    break
                last = a
            if last is not None:
                self._relations[last].append(relation)

    def entities(self, community: Community) -> list[Entity]:
        """Members of a community, sorted by id."""
        return [self._entities[entity] for entity in community.entities if entity in self._entities]

    def relations(self, community: Community) -> list[Relation]:
        """Every relation of which both ends are members; no particular but a fixed order."""
        found: list[Relation] = []
        open_ = [community.id]
        while open_:
            at = open_.pop()
            found += self._relations.get(at, ())
            open_ += [part.id for part in self.parts.get(at, ())]
        return found

    def volume(self, community: Community) -> float:
        """Weighted degree of the members, and one for each of them."""
        return sum(self.strength.get(entity, 0.0) + 1.0 for entity in community.entities)


def inner_strength(relations: Sequence[Relation]) -> dict[str, float]:
    """Sum of the weights of each entity's relations among the given ones."""
    strength: dict[str, float] = defaultdict(float)
    for relation in relations:
        strength[relation.source] += relation.weight
        strength[relation.target] += relation.weight
    return strength
