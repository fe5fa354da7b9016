import type { LanguageModel, ModelMessage } from "ai";

type Fields = Record<string, unknown>;

/** The members of a model that this module uses. They are the same in every version of the SDK. */
interface CallableModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: unknown;
  doGenerate(options: unknown): PromiseLike<{ content: readonly Fields[] }>;
  doStream(options: unknown): PromiseLike<{ stream: ReadableStream<Fields> }>;
}

/**
 * Returns the model. Each of its answers is recorded before the SDK gets the answer's tool calls, and so before it runs them.
 *
 * @param model  The model, or the name of one, which is returned as it is. The SDK passes names to `prepareStep` in no tested version.
 */
export function recordedModel(model: LanguageModel, record: (answer: ModelMessage) => void): LanguageModel {
  if (typeof model === "string") return model;
  const called = model as unknown as CallableModel;
  const recordContent = (content: readonly Fields[]): void => {
    const parts = content.flatMap(partsOf);
    if (parts.length > 0) record({ role: "assistant", content: parts } as unknown as ModelMessage);
  };
  const recorded: CallableModel = {
    specificationVersion: called.specificationVersion,
    provider: called.provider,
    modelId: called.modelId,
    supportedUrls: called.supportedUrls,
    doGenerate: async (options) => {
      const result = await called.doGenerate(options);
      recordContent(result.content);
      return result;
    },
    doStream: async (options) => {
      const result = await called.doStream(options);
      return { ...result, stream: result.stream.pipeThrough(recordedStream(recordContent)) };
    },
  };
  return recorded as unknown as LanguageModel;
}

/** Passes a stream on. What follows the first tool call waits until the answer is whole and recorded. */
function recordedStream(record: (content: readonly Fields[]) => void): TransformStream<Fields, Fields> {
  const content: Fields[] = [];
  const open = new Map<string, Fields>();
  const held: Fields[] = [];
  let isRecorded = false;
  const finish = (controller: TransformStreamDefaultController<Fields>): void => {
    if (!isRecorded) record(content);
    isRecorded = true;
    for (const chunk of held.splice(0)) controller.enqueue(chunk);
  };
  return new TransformStream({
    transform(chunk, controller) {
      const { type, id, delta, providerMetadata } = chunk as { type: string; id: string } & Fields;
      const [, kind, phase] = /^(text|reasoning)-(start|delta|end)$/.exec(type) ?? [];
      if (kind === undefined) content.push(chunk);
      else if (phase === "start") {
        const part: Fields = { type: kind, text: "" };
        open.set(`${kind} ${id}`, part);
        content.push(part);
      }
      const part = open.get(`${kind} ${id}`);
      if (part !== undefined && phase === "delta") part.text += String(delta);
      if (part !== undefined && providerMetadata !== undefined) part.providerMetadata = providerMetadata;
      if (type === "finish") finish(controller);
      const waits = !isRecorded && (held.length > 0 || type === "tool-call");
      if (waits) held.push(chunk);
      else controller.enqueue(chunk);
    },
    flush: finish,
  });
}

/** The part of a message for a part of an answer, as the SDK makes it. */
function partsOf({ type, text, toolCallId, toolName, input, providerMetadata, ...rest }: Fields): Fields[] {
  const providerOptions = providerMetadata === undefined ? {} : { providerOptions: providerMetadata };
  if (type === "reasoning" || (type === "text" && text !== "")) return [{ type, text, ...providerOptions }];
  if (type !== "tool-call" || rest.providerExecuted === true) return [];
  return [{ type, toolCallId, toolName, input: parsed(String(input)), ...providerOptions }];
}

function parsed(input: string): unknown {
  if (input.trim() === "") return {};
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}
