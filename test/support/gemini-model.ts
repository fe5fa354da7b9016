/** What stands in the elements of a prompt, as a model would read it. */
export interface PromptElement {
  name: "message" | "summary";
  seq: number | undefined;
  text: string;
}

/** The elements of a prompt. Text that broke out of one would show up here as another. */
export function elementsOf(prompt: string): PromptElement[] {
  return [...prompt.matchAll(/<(message|summary)([^>]*)>\n([\s\S]*?)\n<\/\1>/g)].map(([, name, attributes, text]) => {
    const [, seq] = / seq="(\d+)"/.exec(attributes!) ?? [];
    return { name: name as PromptElement["name"], seq: seq === undefined ? undefined : Number(seq), text: text! };
  });
}

/**
 * The answer of a model that does what it is asked, as JSON: the first line with words of every message, cut to 200 characters,
 * and of every earlier summary each line with what it cites.
 */
export function answerTo(prompt: string): string {
  const summary = elementsOf(prompt).flatMap(({ seq, text }) => {
    const lines = text.split("\n").filter((line) => /[\p{L}\p{N}]/u.test(line));
    const told = seq === undefined ? lines : lines.slice(0, 1);
    return told.map((line) => ({ text: line.slice(0, 200), seqs: seq === undefined ? [] : [seq] }));
  });
  const [first] = summary;
  const empty = { decisions: [], openQuestions: [], identifiers: [], files: [] };
  return JSON.stringify({ summary, ...empty, title: first?.text.slice(0, 40) ?? "" });
}
