"""Families of language models by their names: a judge prefers answers by models of its own family."""

import re

_FAMILIES = {
    "Claude": ("claude",),
    "Command": ("command", "c4ai-command", "aya"),
    "DeepSeek": ("deepseek",),
    "Falcon": ("falcon",),
    "Gemini": ("gemini", "gemma"),
    "GLM": ("glm", "chatglm"),
    "GPT": ("gpt", "chatgpt", "o1", "o3", "o4"),
    "Granite": ("granite",),
    "Grok": ("grok",),
    "Kimi": ("kimi", "moonshot"),
    "Llama": ("llama", "meta-llama", "codellama"),
    "Mistral": ("mistral", "mixtral", "ministral", "codestral", "magistral", "devstral", "open-mistral"),
    "Nova": ("nova",),
    "OLMo": ("olmo",),
    "Phi": ("phi",),
    "Qwen": ("qwen", "qwq", "qvq", "codeqwen"),
    "Yi": ("yi",),
}
"""Prefixes of names, without the provider."""
_PREFIXES = {prefix: family for family, prefixes in _FAMILIES.items() for prefix in prefixes}


def model_family(name: str) -> str:
    """Return the family of a model; empty if its name does not tell.

    Providers before ``/``, ``:`` or ``.`` are skipped.

    >>> model_family("openai/gpt-4o-mini"), model_family("us.anthropic.claude-3"), model_family("ft:gpt-4o:team")
    ('GPT', 'Claude', 'GPT')
    >>> model_family("my-model")
    ''
    """
    for part in re.split(r"[:.]", name.rpartition("/")[2].lower()):
        # A version may follow a prefix at once (`qwen2`), but no letter does (`grok` is not `groks`).
        for end in range(len(part), 0, -1):
            if part[:end] in _PREFIXES and not part[end : end + 1].isalpha():
                return _PREFIXES[part[:end]]
    return ""
