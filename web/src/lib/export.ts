import { documentName, money, nouns, seconds, tokens } from "./format";
import type { Answer, Citation } from "./types";

/** Return an answer with its sources as Markdown. */
export function markdownOf(question: string, answer: Answer): string {
  const source = (each: Citation) =>
    `${each.title || documentName(each.document)} (\`${documentName(each.document)}\`, ${each.start}–${each.end}): “${each.quote.replace(/\s+/g, " ").trim()}”`;
  const sources = answer.citations.map((each) => `- [${each.n}] ${source(each)}`);
  const nearest = (answer.nearest ?? []).map((each) => `- ${source(each)}`);
  const usage = `${answer.method}, ${seconds(answer.usage.seconds)}, ${nouns(answer.usage.calls, "call")}, ${nouns(tokens(answer.usage), "token")}, ${money(answer.usage.cost)}`;
  const lists = [["Sources", sources], ["Nearest passages", nearest]] as const;
  const shown = lists.flatMap(([title, lines]) => (lines.length ? [`### ${title}`, lines.join("\n")] : []));
  return [`## ${question}`, answer.text, ...shown, `*${usage}*`].join("\n\n") + "\n";
}
