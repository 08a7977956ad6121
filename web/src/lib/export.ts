import { money, nouns, seconds, tokens } from "./format";
import type { Answer } from "./types";

/** Return an answer with its sources as Markdown. */
export function markdownOf(question: string, answer: Answer): string {
  const sources = answer.citations.map(
    (each) => `- [${each.n}] ${each.title || each.document} (\`${each.document}\`, ${each.start}–${each.end}): “${each.quote.replace(/\s+/g, " ").trim()}”`,
  );
  const usage = `${answer.method}, ${seconds(answer.usage.seconds)}, ${nouns(answer.usage.calls, "call")}, ${nouns(tokens(answer.usage), "token")}, ${money(answer.usage.cost)}`;
  return [`## ${question}`, answer.text, ...(sources.length ? ["### Sources", sources.join("\n")] : []), `*${usage}*`].join("\n\n") + "\n";
}
