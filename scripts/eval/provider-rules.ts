import type { ContextMessage } from "../../src/index.ts";

/** A reason for which a provider would answer a context with HTTP 400. */
export interface Breach {
  provider: "anthropic" | "openai" | "gemini";
  /** The index of the rendered message; undefined if the context as a whole is refused. */
  messageIndex: number | undefined;
  reason: string;
}

/**
 * Checks a context against the rules of three providers. The rules are written from what the interfaces accept and refuse, not
 * from how contexts are rendered. The request of a plain translation is checked:
 *
 * - **Anthropic Messages.** System messages go into `system`, `tool` messages are turns of the user. Neighbors of one role
 *   are one turn: the interface joins them itself. The first turn is the user's; every `tool_use` is answered by one
 *   `tool_result` in the next turn, where results come first, and a `tool_result` answers the turn before; no two
 *   `tool_use` of a request share an id; no message and no text block is empty or blank.
 * - **OpenAI Chat Completions.** One `tool` message for each result. The results of an assistant message's `tool_calls`
 *   follow it, all of them, before anything else, and no others. A message has content or calls.
 * - **Gemini.** Neighbors of one role are joined into one content, as every client must: Gemini joins nothing. The first
 *   content is the user's; a content with calls comes after one of the user or of responses; responses come right after
 *   the calls, one for each; no part is empty.
 *
 * Reasoning does not count as content: it is signed for one provider and left out for the others. Parts of a translation are
 * not checked: the characters and lengths of ids, media types and JSON schemas.
 */
export function breachesOf(messages: readonly ContextMessage[]): Breach[] {
  const breaches: Breach[] = [];
  const breach = (provider: Breach["provider"], messageIndex: number | undefined, reason: string) => {
    breaches.push({ provider, messageIndex, reason });
  };
  checkAnthropic(messages, (index, reason) => breach("anthropic", index, reason));
  checkOpenai(messages, (index, reason) => breach("openai", index, reason));
  checkGemini(messages, (index, reason) => breach("gemini", index, reason));
  return breaches;
}

/**
 * Returns the context with results for the calls that are open at its end, because a host runs these calls before it sends the
 * context. Returns any other context unchanged.
 */
export function withOpenCallsAnswered(messages: readonly ContextMessage[]): ContextMessage[] {
  const asking = messages.findLastIndex(({ role }) => role !== "tool");
  const open = (messages[asking]?.parts ?? []).flatMap((part) => (part.type === "tool_call" ? [part.toolCallId] : []));
  for (const { parts } of messages.slice(asking + 1)) {
    for (const part of parts) {
      if (part.type === "tool_result" && open.includes(part.toolCallId)) open.splice(open.indexOf(part.toolCallId), 1);
    }
  }
  if (open.length === 0) return [...messages];
  const results = open.map((toolCallId) => ({ type: "tool_result" as const, toolCallId, content: "Done." }));
  return [...messages, { role: "tool", parts: results }];
}

type Report = (messageIndex: number | undefined, reason: string) => void;
type Part = ContextMessage["parts"][number];

function checkAnthropic(messages: readonly ContextMessage[], report: Report): void {
  for (const [index, message] of messages.entries()) checkContent(message, index, report);
  const turns = joined(messages, (role) => (role === "tool" ? "user" : role));
  if (turns.length === 0) report(undefined, "there is no message besides the system's");
  if (turns[0]?.role === "assistant") report(turns[0].index, "the first message is not the user's");

  const ids = new Set<string>();
  turns.forEach(({ index, parts }, place) => {
    const calls = idsOf(parts, "tool_call");
    for (const id of calls) {
      if (ids.has(id)) report(index, `a second tool_use has the id ${id}`);
      ids.add(id);
    }
    const next = idsOf(turns[place + 1]?.parts ?? [], "tool_result");
    for (const id of calls) if (!next.includes(id)) report(index, `tool_use ${id} has no tool_result in the next turn`);

    const results = idsOf(parts, "tool_result");
    const before = idsOf(turns[place - 1]?.parts ?? [], "tool_call");
    for (const id of results) if (!before.includes(id)) report(index, `tool_result ${id} answers nothing`);
    if (results.length !== new Set(results).size) report(index, "two tool_result answer the same tool_use");
    const firstOther = parts.findIndex(({ type }) => type !== "tool_result");
    const lastResult = parts.findLastIndex(({ type }) => type === "tool_result");
    if (firstOther !== -1 && firstOther < lastResult)
      report(index, "something stands before a tool_result of its turn");
  });
}

function checkOpenai(messages: readonly ContextMessage[], report: Report): void {
  if (messages.length === 0) report(undefined, "there is no message");
  let waiting: string[] = [];
  messages.forEach((message, index) => {
    if (message.role === "tool") {
      if (message.parts.length === 0) report(index, "a tool message without a tool_call_id");
      for (const part of message.parts) {
        const place = part.type === "tool_result" ? waiting.indexOf(part.toolCallId) : -1;
        if (place === -1) report(index, "a tool message answers none of the tool_calls before it");
        else waiting.splice(place, 1);
      }
      return;
    }
    if (waiting.length > 0) report(index, `tool_calls ${waiting.join(", ")} are not answered before this`);
    checkContent(message, index, report);
    waiting = idsOf(message.parts, "tool_call");
  });
  if (waiting.length > 0) report(messages.length - 1, `tool_calls ${waiting.join(", ")} are not answered`);
}

function checkGemini(messages: readonly ContextMessage[], report: Report): void {
  for (const [index, message] of messages.entries()) checkContent(message, index, report);
  const contents = joined(messages, (role) => role);
  if (contents.length === 0) report(undefined, "there are no contents");
  contents.forEach(({ role, index, parts }, place) => {
    const before = contents[place - 1];
    const calls = idsOf(parts, "tool_call");
    if (place === 0 && role !== "user") report(index, "the first content is not the user's");
    if (calls.length > 0 && before?.role !== "user" && before?.role !== "tool") {
      report(index, "calls come neither after the user nor after responses");
    }
    if (calls.length > 0 && contents[place + 1]?.role !== "tool") report(index, "calls are not followed by responses");
    if (role !== "tool") return;
    const asked = idsOf(before?.parts ?? [], "tool_call").sort();
    const answered = idsOf(parts, "tool_result").sort();
    if (asked.length === 0) report(index, "responses do not come right after calls");
    else if (asked.join("\n") !== answered.join("\n")) report(index, "responses are not those of the calls before");
  });
}

/** Checks the rules of all providers: parts fit their role, no text is blank, and no message is only reasoning. */
function checkContent({ role, parts }: ContextMessage, index: number, report: Report): void {
  if (parts.every(({ type }) => type === "reasoning")) report(index, "a message without content");
  for (const part of parts) {
    if (part.type === "text" && part.text.trim() === "") report(index, "a blank text");
    if (part.type === "tool_call" && role !== "assistant") report(index, `a call by the ${role}`);
    if ((part.type === "tool_result") !== (role === "tool")) report(index, `a ${part.type} by the ${role}`);
    if (part.type !== "tool_result" || typeof part.content === "string") continue;
    if (part.content.some((item) => item.type === "text" && item.text.trim() === "")) report(index, "a blank text");
  }
}

/** Joins neighbors of one role. Leaves out system messages, which are in another field. `index` is that of the first. */
function joined(
  messages: readonly ContextMessage[],
  roleOf: (role: ContextMessage["role"]) => ContextMessage["role"],
): { role: string; index: number; parts: Part[] }[] {
  const turns: { role: string; index: number; parts: Part[] }[] = [];
  messages.forEach(({ role, parts }, index) => {
    if (role === "system") return;
    const last = turns.at(-1);
    if (last?.role === roleOf(role)) last.parts.push(...parts);
    else turns.push({ role: roleOf(role), index, parts: [...parts] });
  });
  return turns;
}

function idsOf(parts: readonly Part[], type: "tool_call" | "tool_result"): string[] {
  return parts.flatMap((part) => (part.type === type ? [part.toolCallId] : []));
}
