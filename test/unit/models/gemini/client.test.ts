import { beforeEach, expect, test, vi } from "vitest";
import { GeminiClient } from "../../../../src/models/gemini/client.ts";
import { geminiSettings } from "../../../../src/models/gemini/options.ts";

const sdk = vi.hoisted(() => ({ isBroken: false }));

vi.mock("@google/genai", () => ({
  GoogleGenAI: class {
    models = { generateContent: async () => ({ candidates: [{ content: { parts: [{ text: "hello" }] } }] }) };
    constructor({ apiKey }: { apiKey: string }) {
      if (sdk.isBroken) throw new TypeError(`half installed (${apiKey})`);
    }
  },
}));

const ask = (client: GeminiClient, signal = new AbortController().signal): Promise<string> =>
  client.generate({
    system: "s",
    prompt: "p",
    schema: {},
    outputTokensMax: 9,
    signal,
    onUsage: undefined,
    onSend: undefined,
  });

beforeEach(() => {
  sdk.isBroken = true;
});

test("an SDK that cannot be loaded is a model that is not there, and the next call tries again", async () => {
  const client = new GeminiClient(geminiSettings({ apiKey: "secret-key", model: "m" }));
  const failure = {
    code: "MODEL_UNAVAILABLE",
    details: { model: "m", reason: "@google/genai cannot be loaded: half installed ([key])" },
  };
  const results = await Promise.allSettled([ask(client), ask(client)]);
  expect(results).toMatchObject([{ reason: failure }, { reason: failure }]);
  sdk.isBroken = false;
  expect(await ask(client)).toBe("hello");
});

test("a signal that is aborted meanwhile comes first", async () => {
  const client = new GeminiClient(geminiSettings({ apiKey: "secret-key", model: "m" }));
  const controller = new AbortController();
  const reason = new Error("closing");
  const result = ask(client, controller.signal);
  controller.abort(reason);
  await expect(result).rejects.toBe(reason);
});
