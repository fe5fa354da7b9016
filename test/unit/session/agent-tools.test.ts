import { generateText, stepCountIs } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { describe, expect, test } from "vitest";
import { agentTools } from "../../../src/session/aids/agent-tools.ts";
import { user } from "../../support/said.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

function harbor() {
  const store = temporaryStore();
  const lights = store.session("lights", { project: "harbor", title: "Lights" });
  lights.append(user("The lamp of the lighthouse is green."));
  store.session("bakery", { project: "village" }).append(user("The lamp of the bakery is broken."));
  return store;
}

const NAMES = ["recall", "expand", "context"];

test("each SDK gets the same three tools in its own shape", () => {
  const { tools, openai, anthropic, gemini, aiSdk } = agentTools(harbor());
  expect(tools.map(({ name }) => name)).toEqual(NAMES);
  const schemas = tools.map(({ parameters }) => parameters);
  for (const schema of schemas)
    expect(schema).toMatchObject({ type: "object", properties: {}, required: [expect.any(String)] });
  expect(openai.map(({ type, function: { name, parameters } }) => [type, name, parameters])).toEqual(
    NAMES.map((name, index) => ["function", name, schemas[index]]),
  );
  expect(anthropic.map((tool) => [tool.name, tool.input_schema])).toEqual(NAMES.map((name, at) => [name, schemas[at]]));
  expect(gemini[0]!.functionDeclarations.map((tool) => [tool.name, tool.parametersJsonSchema])).toEqual(
    NAMES.map((name, index) => [name, schemas[index]]),
  );
  expect(Object.keys(aiSdk)).toEqual(NAMES);
});

describe("a call", () => {
  test("is answered with quoted text, also if its arguments are JSON", async () => {
    const { run } = agentTools(harbor());
    const found = await run("recall", '{"query":"green lamp"}');
    expect(found).toMatchObject({ isError: false });
    expect(found.content).toContain('<session id="lights" title="Lights"');
    expect(found.content).toContain('<hit id="1" seq=');
    expect((await run("expand", { target: "message:1" })).content).toContain("The lamp of the lighthouse is green.");
    expect((await run("context", { sessionId: "lig" })).content).toMatch(/^<context session="lights"/);
  });

  test("sees nothing of other projects", async () => {
    const { run } = agentTools(harbor(), { project: "harbor" });
    expect((await run("recall", { query: "lamp" })).content).not.toContain("bakery");
    for (const [name, args] of [
      ["expand", { target: "2" }],
      ["expand", { target: "2", from: 0 }],
      ["context", { sessionId: "bakery" }],
    ] as const) {
      expect(await run(name, args)).toMatchObject({ isError: true, content: expect.not.stringContaining("broken") });
    }
  });

  test.each([
    ["recall", {}, "Expected query to be"],
    ["recall", "{", "Expected the arguments to be an object"],
    ["expand", { target: "theme:x" }, "is not a handle"],
    ["forget", {}, 'There is no tool "forget". The tools are: recall, expand, context.'],
  ])("%s(%j) that is wrong is explained to the model", async (name, args, message) => {
    expect(await agentTools(harbor()).run(name, args)).toEqual({
      isError: true,
      content: expect.stringContaining(message),
    });
  });

  test.each([Object.create(null), Symbol("recall"), () => {}])(
    "of a tool that has no text as its name is explained",
    async (name) => {
      expect(await agentTools(harbor()).run(name as string, {})).toEqual({
        isError: true,
        content: expect.stringContaining(`There is no tool whose name is of type ${typeof name}. The tools are: `),
      });
    },
  );

  test("that is aborted is not run", async () => {
    const { run } = agentTools(harbor());
    const signal = AbortSignal.abort(new Error("gone"));
    await expect(run("recall", { query: "lamp" }, { signal })).rejects.toThrow("gone");
  });
});

test("the AI SDK declares and runs the tools", async () => {
  const { aiSdk } = agentTools(harbor());
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  const input = '{"query":"green lamp"}';
  const model = new MockLanguageModelV3({
    doGenerate: [
      {
        content: [{ type: "tool-call", toolCallId: "c1", toolName: "recall", input }],
        finishReason: { unified: "tool-calls", raw: undefined },
        usage,
        warnings: [],
      },
      {
        content: [{ type: "text", text: "Green." }],
        finishReason: { unified: "stop", raw: undefined },
        usage,
        warnings: [],
      },
    ],
  });
  const { steps } = await generateText({ model, prompt: "Which color?", tools: aiSdk, stopWhen: stepCountIs(3) });
  expect(model.doGenerateCalls[0]!.tools!.map(({ name }) => name)).toEqual(NAMES);
  expect(steps[0]!.toolResults[0]!.output).toContain("The lamp of the lighthouse is green.");
});

test("an SDK that changes the schema of a tool changes no other tools", () => {
  const [first] = agentTools(harbor()).tools;
  first!.parameters.additionalProperties = false;
  expect(agentTools(harbor()).tools[0]!.parameters).not.toHaveProperty("additionalProperties");
});

test("options are checked", () => {
  expect(() => agentTools(harbor(), { tokensMax: 1 })).toThrow("tokensMax");
});
