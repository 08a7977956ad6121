"""How the process that works on jobs opens an index in tests: hashed vectors, a scripted chat model."""

import time

from polygraph.models.providers.static import HashEmbedder
from polygraph.testing import hashed_models, scripted_chat
from polygraph.workspace.index import Index


class SlowEmbedder(HashEmbedder):
    """An embedder that takes its time, so that a job can be met in the middle."""

    def embed(self, texts, kind):
        time.sleep(0.3)
        return super().embed(texts, kind)


def open_index(folder, settings):
    return Index.open(folder, settings=settings, models=hashed_models(scripted_chat()))


def open_slowly(folder, settings):
    models = hashed_models(scripted_chat())
    models.embedder.__class__ = SlowEmbedder
    return Index.open(folder, settings=settings, models=models)
