import type { AgentInputItem, Model, ModelProvider } from "@openai/agents-core";

/** Gets what a model was asked, and then what it answered. */
export interface Recorder {
  /** @returns whether the request is one of the session's. */
  asked(input: string | AgentInputItem[]): boolean;
  answered(output: readonly AgentInputItem[]): void;
}

/** Returns the model, or the provider's models. What is asked is recorded before it is sent, and answers before their tools run. */
export function recorded<Recorded extends Model | ModelProvider>(given: Recorded, recorder: Recorder): Recorded {
  if (!("getModel" in given)) return recordedModel(given, recorder) as Recorded;
  const provider: ModelProvider = {
    getModel: async (name) => recordedModel(await given.getModel(name), recorder),
  };
  return provider as Recorded;
}

function recordedModel(model: Model, recorder: Recorder): Model {
  const { supportsPromptModelSelection } = model;
  return {
    ...(supportsPromptModelSelection !== undefined && { supportsPromptModelSelection }),
    async getResponse(request) {
      const isOwn = recorder.asked(request.input);
      const response = await model.getResponse(request);
      if (isOwn) recorder.answered(response.output);
      return response;
    },
    async *getStreamedResponse(request) {
      const isOwn = recorder.asked(request.input);
      for await (const event of model.getStreamedResponse(request)) {
        if (isOwn && event.type === "response_done") recorder.answered(event.response.output);
        yield event;
      }
    },
    getRetryAdvice: (args) => model.getRetryAdvice?.(args),
  };
}
