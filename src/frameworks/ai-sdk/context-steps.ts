import { isDeepStrictEqual } from "node:util";
import type { LanguageModel, ModelMessage } from "ai";
import { fromAiSdk, toAiSdk } from "../../adapters/ai-sdk.ts";
import { type AnyMessage, partsOf } from "../../adapters/shared/message.ts";
import type { Message, MessageInput } from "../../core/message.ts";
import type { RenderOptions } from "../../session/context-options.ts";
import type { Session } from "../../session/session.ts";
import { recordedModel } from "./recorded-model.ts";
import { firstDifference } from "./ui-messages.ts";

/** The steps of a run, as the AI SDK passes them. In version 6, the messages of a step begin with those of the steps before. */
export interface PreparedStep {
  steps: readonly { response: { messages: readonly ModelMessage[] } }[];
}

/** Settings of a run: `generateText({ model, tools, prompt, ...contextSteps(session) })`. */
export interface ContextSteps {
  prepareStep(options: PreparedStep & { messages: readonly ModelMessage[]; model?: LanguageModel }): {
    messages: ModelMessage[];
    /** The step's model. It stores each answer before the tools run. */
    model?: LanguageModel;
  };
  onFinish(result: PreparedStep): void;
}

/**
 * Returns the settings with which a run of the AI SDK stores what is said in a session, and the model gets the session's context
 * instead of the whole prompt. Before the first step, the messages of the prompt that follow the session's newest message are
 * appended; what the model says before its tools run; and what the tools say before the next step, or at the end. The context is
 * made from the session alone, so it does not matter whether the SDK keeps the messages that `prepareStep` returns for later steps
 * (7) or not (6).
 *
 * @param options  Those of `Session.render`, for example `tokensMax`. One run at a time may use the settings.
 */
export function contextSteps(session: Session, options: RenderOptions = {}): ContextSteps {
  let storedSteps = 0;
  let said: readonly ModelMessage[] = [];
  /** The model's answer, stored before its step has ended. */
  let answer: Message[] = [];
  const record = (message: ModelMessage): void => {
    session.append(fromAiSdk(message) as MessageInput[]);
    answer = session.messages({ last: 1 });
  };
  /** Appends what a step said. If the SDK has made something else of the stored answer, this supersedes it. */
  const append = (messages: readonly ModelMessage[]): void => {
    const inputs = fromAiSdk(messages) as MessageInput[];
    const isNewest = answer[0]?.id === session.messages({ last: 1 })[0]?.id;
    const kept = isNewest ? firstDifference(answer, inputs) : 0;
    if (isNewest && kept < answer.length) session.rewind({ toSeq: answer[0]!.seq - 1 });
    session.append(inputs.slice(kept));
    answer = [];
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
        answer = [];
        // The results of calls that a person approved end the prompt, and begin what the first step says.
        said = messages.at(-1)?.role === "tool" ? messages.slice(-1) : [];
        session.append(newIn(messages, session));
      }
      store({ steps });
      const context = toAiSdk(session.render(options).messages);
      return { messages: context, ...(model !== undefined && { model: recordedModel(model, record) }) };
    },
    onFinish: store,
  };
}

/** Returns the messages of a prompt after the one that says what the session's newest message says. */
function newIn(prompt: readonly ModelMessage[], session: Session): MessageInput[] {
  const messages = fromAiSdk(prompt);
  const [newest] = session.messages({ last: 1 });
  const last = newest === undefined ? -1 : messages.findLastIndex((message) => saysTheSame(message, newest));
  return messages.slice(last + 1) as MessageInput[];
}

/** The form may differ, for example that of a message that came from a UI message. */
function saysTheSame(left: AnyMessage, right: AnyMessage): boolean {
  return left.role === right.role && wordsOf(left) === wordsOf(right);
}

function wordsOf(message: AnyMessage): string {
  return partsOf(message)
    .flatMap((part) => {
      if (part.type === "text") return [part.text];
      return part.type === "tool_call" || part.type === "tool_result" ? [part.toolCallId] : [];
    })
    .join("\n");
}
