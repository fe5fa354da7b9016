import { isDeepStrictEqual } from "node:util";
import type { LanguageModel, ModelMessage } from "ai";
import { fromAiSdk, toAiSdk } from "../../adapters/ai-sdk.ts";
import { type AnyMessage, partsOf } from "../../adapters/shared/message.ts";
import type { Message, MessageInput } from "../../core/message.ts";
import type { RenderOptions } from "../../session/context-options.ts";
import type { Session } from "../../session/session.ts";
import { recordedModel } from "./recorded-model.ts";
import { firstDifference, holds } from "./ui-messages.ts";

/** The steps of a run, as the AI SDK passes them. In version 6, the messages of a step begin with those of the steps before. */
export interface PreparedStep {
  steps: readonly { response: { messages: readonly ModelMessage[] } }[];
}

/** The end of a tool call as the AI SDK reports it: version 6 has the result beside the call, version 7 in `toolOutput`. */
export interface FinishedCall {
  toolCall: { toolCallId: string; toolName: string };
  success?: boolean;
  output?: unknown;
  error?: unknown;
  toolOutput?: { type: string; output?: unknown; error?: unknown };
}

/** Settings of a run: `generateText({ model, tools, prompt, ...contextSteps(session) })`. */
export interface ContextSteps {
  prepareStep(options: PreparedStep & { messages: readonly ModelMessage[]; model?: LanguageModel }): {
    messages: ModelMessage[];
    /** The step's model. It stores each answer before the tools run. */
    model?: LanguageModel;
  };
  /** Stores the result of a tool while others run. Version 7 takes this name, too. */
  experimental_onToolCallFinish(call: FinishedCall): void;
  onFinish(result: PreparedStep): void;
}

/**
 * Returns the settings with which a run of the AI SDK stores what is said in a session, and the model gets the session's context
 * instead of the whole prompt. Before the first step, the messages of the prompt that follow the session's newest message are
 * appended; what the model says before its tools run; and what each tool says when it has ended. The context is
 * made from the session alone, so it does not matter whether the SDK keeps the messages that `prepareStep` returns for later steps
 * (7) or not (6).
 *
 * @param options  Those of `Session.render`, for example `tokensMax`. One run at a time may use the settings.
 */
export function contextSteps(session: Session, options: RenderOptions = {}): ContextSteps {
  let storedSteps = 0;
  let said: readonly ModelMessage[] = [];
  /** The model's answer, and the results of its tools, stored before the step has ended. */
  let early: Message[] = [];
  const record = (message: ModelMessage): void => {
    session.append(fromAiSdk(message) as MessageInput[]);
    early.push(...session.messages({ last: 1 }));
  };
  /** Appends what a step said. If the SDK has made something else of what is stored of it, this supersedes that. */
  const append = (messages: readonly ModelMessage[]): void => {
    const said = fromAiSdk(messages) as MessageInput[];
    const inputs = early.length > 1 ? said.flatMap(resultByResult) : said;
    const isNewest = early.at(-1)?.id === session.messages({ last: 1 })[0]?.id;
    const isStored = (input: MessageInput): boolean => early.some((message) => holds(message, input));
    // Tools may end in another order than that of their calls.
    if (isNewest && inputs.filter(isStored).length === early.length) {
      session.append(inputs.filter((input) => !isStored(input)));
    } else {
      const kept = isNewest ? firstDifference(early, inputs) : 0;
      if (isNewest) session.rewind({ toSeq: early[kept]!.seq - 1 });
      session.append(inputs.slice(kept));
    }
    early = [];
  };
  const store = ({ steps }: PreparedStep): void => {
    for (const { response } of steps.slice(storedSteps)) {
      const { messages } = response;
      const isLonger = isDeepStrictEqual(messages.slice(0, said.length), said);
      append(isLonger ? messages.slice(said.length) : messages);
      said = isLonger || storedSteps === 0 ? messages : [...said, ...messages];
      storedSteps += 1;
    }
  };
  return {
    prepareStep({ steps, messages, model }) {
      if (steps.length === 0) {
        storedSteps = 0;
        early = [];
        // The results of calls that a person approved end the prompt, and begin what the first step says.
        said = messages.at(-1)?.role === "tool" ? messages.slice(-1) : [];
        session.append(newIn(messages, session));
      }
      store({ steps });
      const context = toAiSdk(session.render(options).messages);
      return { messages: context, ...(model !== undefined && { model: recordedModel(model, record) }) };
    },
    experimental_onToolCallFinish({ toolCall: { toolCallId, toolName }, ...call }) {
      // Calls that a person approved run before the first step, which stores their results.
      if (early.length === 0) return;
      const { output: value, error } = call.toolOutput ?? call;
      const hasFailed = call.success === false || call.toolOutput?.type === "tool-error";
      const content = [{ type: "tool-result", toolCallId, toolName, output: outputOf(value, hasFailed, error) }];
      record({ role: "tool", content } as ModelMessage);
    },
    onFinish: store,
  };
}

/** The output of a result as the SDK makes it, unless the tool has a way of its own. */
function outputOf(value: unknown, hasFailed: boolean, error: unknown): object {
  if (hasFailed) return { type: "error-text", value: error instanceof Error ? error.message : String(error) };
  return typeof value === "string" ? { type: "text", value } : { type: "json", value: value ?? null };
}

/** Makes a message of each result, as they are stored one by one. */
function resultByResult(message: MessageInput): MessageInput[] {
  const { parts = [], ...rest } = message;
  return message.role === "tool" ? parts.map((part) => ({ ...rest, parts: [part] }) as MessageInput) : [message];
}

/** Returns the messages of a prompt after the one that says what the session's newest message says. */
function newIn(prompt: readonly ModelMessage[], session: Session): MessageInput[] {
  const messages = fromAiSdk(prompt);
  const [newest] = session.messages({ last: 1 });
  const last = newest === undefined ? -1 : messages.findLastIndex((message) => saysTheSame(message, newest));
  return messages.slice(last + 1) as MessageInput[];
}

/**
 * The form may differ, for example that of a message that came from a UI message. Results that the prompt has in one message may be
 * stored in several.
 */
function saysTheSame(prompted: AnyMessage, stored: AnyMessage): boolean {
  if (prompted.role !== stored.role) return false;
  const [words, held] = [wordsOf(prompted), wordsOf(stored)];
  if (stored.role === "tool" && held.length > 0) return held.every((id) => words.includes(id));
  return words.join("\n") === held.join("\n");
}

function wordsOf(message: AnyMessage): string[] {
  return partsOf(message).flatMap((part) => {
    if (part.type === "text") return [part.text];
    return part.type === "tool_call" || part.type === "tool_result" ? [part.toolCallId] : [];
  });
}
