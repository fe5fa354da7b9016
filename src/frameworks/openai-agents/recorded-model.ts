import { type AgentInputItem, type Model, type ModelProvider, Runner } from "@openai/agents-core";

/** Gets what a model was asked, then what it answered, and then the result of each tool. */
export interface Recorder {
  /** @returns whether the request is one of the session's. */
  asked(input: string | AgentInputItem[]): boolean;
  answered(output: readonly AgentInputItem[]): void;
  ended(toolCall: object, result: string): void;
}

/**
 * Returns the model, or a runner with the settings and the models of the given one. What is asked is recorded before it is sent,
 * answers before their tools run, and a runner's results while other tools run.
 */
export function recorded<Recorded extends Model | Runner>(given: Recorded, recorder: Recorder): Recorded {
  return ("config" in given ? recordedRunner(given, recorder) : recordedModel(given, recorder)) as Recorded;
}

function recordedRunner({ config }: Runner, recorder: Recorder): Runner {
  const modelProvider: ModelProvider = {
    getModel: async (name) => recordedModel(await config.modelProvider.getModel(name), recorder),
  };
  const runner = new Runner({ ...config, modelProvider });
  runner.on("agent_tool_end", (_context, _agent, _tool, result, { toolCall }) => recorder.ended(toolCall, result));
  return runner;
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
