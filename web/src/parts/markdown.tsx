/**
 * Markdown of answers and reports as elements, never as HTML text: a parser gives tokens, and this module makes
 * elements of the few kinds it knows. Raw HTML, links and images of a model or a document stay the characters they are.
 */

import MarkdownIt from "markdown-it";
import type { ComponentChildren, VNode } from "preact";
import { Fragment, h } from "preact";
import { useMemo } from "preact/hooks";

const parser = new MarkdownIt("commonmark", { html: false, linkify: false }).enable(["table"]);
parser.disable(["link", "image", "autolink", "reference", "html_block", "html_inline"]);

type Token = ReturnType<typeof parser.parse>[number];
const ELEMENTS = new Set([
  "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "em", "strong",
  "table", "thead", "tbody", "tr", "th", "td",
]); // prettier-ignore
const CITED = /\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]/g;

interface Props {
  text: string;
  /** Shows a citation by its number; without it, numbers stay text. */
  cite?: (n: number, key: string) => ComponentChildren;
  /** Level of the first heading. */
  top?: number;
}

export function Markdown({ text, cite, top = 3 }: Props) {
  const tokens = useMemo(() => parser.parse(text.slice(0, 400_000), {}), [text]);
  return <>{build(tokens, cite, top)}</>;
}

function build(tokens: Token[], cite: Props["cite"], top: number): ComponentChildren[] {
  const stack: { tag: string; token: Token | null; inside: ComponentChildren[] }[] = [{ tag: "", token: null, inside: [] }];
  const put = (child: ComponentChildren) => stack[stack.length - 1]?.inside.push(child);
  tokens.forEach((token, i) => {
    if (token.type === "inline") put(build(token.children ?? [], cite, top));
    else if (token.nesting === 1) stack.push({ tag: token.tag, token, inside: [] });
    else if (token.nesting === -1) {
      const closed = stack.pop();
      if (closed?.token) put(element(closed.tag, closed.token, closed.inside, top, i));
    } else put(leaf(token, cite, i));
  });
  return stack[0]?.inside ?? [];
}

function element(tag: string, token: Token, inside: ComponentChildren[], top: number, key: number): ComponentChildren {
  if (token.hidden || !ELEMENTS.has(tag)) return h(Fragment, { key }, inside);
  const heading = /^h([1-6])$/.exec(tag);
  const name = heading ? `h${Math.min(6, top - 1 + Number(heading[1]))}` : tag;
  const start = tag === "ol" ? token.attrGet("start") : null;
  const made: VNode = h(name as "p", { key, ...(start ? { start: Number(start) } : {}) } as object, inside);
  return tag === "table" ? (
    <div class="wide" key={key} tabIndex={0} role="region" aria-label="Table">
      {made}
    </div>
  ) : (
    made
  );
}

function leaf(token: Token, cite: Props["cite"], key: number): ComponentChildren {
  switch (token.type) {
    case "text":
      return cite ? withCitations(token.content, cite, key) : token.content;
    case "softbreak":
      return "\n";
    case "hardbreak":
      return <br key={key} />;
    case "hr":
      return <hr key={key} />;
    case "code_inline":
      return <code key={key}>{token.content}</code>;
    case "fence":
    case "code_block":
      return (
        <pre key={key} tabIndex={0}>
          <code>{token.content}</code>
        </pre>
      );
    default:
      return token.content;
  }
}

function withCitations(text: string, cite: NonNullable<Props["cite"]>, key: number): ComponentChildren[] {
  const made: ComponentChildren[] = [];
  let at = 0;
  for (const match of text.matchAll(CITED)) {
    made.push(text.slice(at, match.index).replace(/\s+$/, match.index > at ? "\u202f" : ""));
    for (const n of (match[1] ?? "").split(/[,;]/)) made.push(cite(Number(n), `${key}-${match.index}-${n}`));
    at = match.index + match[0].length;
  }
  made.push(text.slice(at));
  return made;
}
