import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type GeminiOptions, geminiSettings } from "../../../../src/models/gemini/options.ts";

beforeEach(() => {
  vi.stubEnv("GOOGLE_API_KEY", undefined);
  vi.stubEnv("GEMINI_API_KEY", undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

describe("the key", () => {
  test("is the one given, else that of the environment", () => {
    vi.stubEnv("GEMINI_API_KEY", "gemini\n");
    expect(geminiSettings({}).apiKey).toBe("gemini");
    vi.stubEnv("GOOGLE_API_KEY", "google");
    expect(geminiSettings({}).apiKey).toBe("google");
    expect(geminiSettings({ apiKey: " given " }).apiKey).toBe("given");
  });

  test.each([[{}], [{ apiKey: "" }], [{ apiKey: " \n" }]])("is missed at once: %j", (options) => {
    expect(() => geminiSettings(options)).toThrow("There is no key for gemini-3.1-flash-lite.");
  });

  test.each([["two words"], ["line\nbreak"], ["ключ"], [42]])(
    "is refused, and not shown, where no header can carry it: %j",
    (apiKey) => {
      const expected = 'Expected apiKey to be a text without white space, got "[not shown]".';
      expect(() => geminiSettings({ apiKey } as GeminiOptions)).toThrow(expected);
    },
  );
});

test("what is left out has a default", () => {
  expect(geminiSettings({ apiKey: "k" })).toEqual({
    apiKey: "k",
    model: "gemini-3.1-flash-lite",
    baseUrl: undefined,
    timeoutMs: 60_000,
    concurrency: 8,
    requestsPerMinute: undefined,
    prices: { input: 0.25, output: 1.5 },
    redact: undefined,
  });
});

const ADDRESS_NOT_SHOWN = 'baseUrl to be an http or https address without password or query, got "[not shown]"';

test.each([
  [{ model: "" }, 'model to be the name of a model, such as gemini-3.1-flash-lite, got ""'],
  [{ model: "../files" }, 'model to be the name of a model, such as gemini-3.1-flash-lite, got "../files"'],
  [{ model: "a?key=b" }, 'model to be the name of a model, such as gemini-3.1-flash-lite, got "a?key=b"'],
  [{ timeoutMs: 0 }, "timeoutMs to be a whole number from 1 to 3600000, got 0"],
  [{ timeoutMs: 1.5 }, "timeoutMs to be a whole number from 1 to 3600000, got 1.5"],
  [{ concurrency: 0 }, "concurrency to be a whole number from 1 to 1000, got 0"],
  [{ requestsPerMinute: 0.5 }, "requestsPerMinute to be a whole number from 1 to 1000000, got 0.5"],
  [{ redact: "x" }, 'redact to be a function, got "x"'],
  [{ baseUrl: "file:///etc" }, 'baseUrl to be an http or https address without password or query, got "file:///etc"'],
  [{ baseUrl: "http://me:hunter2@host" }, ADDRESS_NOT_SHOWN],
  [{ baseUrl: "https://host?key=k" }, ADDRESS_NOT_SHOWN],
  [{ baseUrl: "me:hunter2@host" }, ADDRESS_NOT_SHOWN],
])("refuses %j", (options, expected) => {
  expect(() => geminiSettings({ apiKey: "k", ...options } as GeminiOptions)).toThrow(`Expected ${expected}.`);
});

test.each([[{ input: 1 }], [{ input: -1, output: 1 }], [{ input: "1", output: 1 }], [3], [null]])(
  "refuses %j for prices",
  (pricePerMillionTokens) => {
    const options = { apiKey: "k", pricePerMillionTokens } as unknown as GeminiOptions;
    const expected = "Expected pricePerMillionTokens to be US dollars as { input, output }, each at least 0, got";
    expect(() => geminiSettings(options)).toThrow(expected);
  },
);

test("prices that are given win, and a model that is not on the list has none", () => {
  const given = { input: 1, output: 2 };
  expect(geminiSettings({ apiKey: "k", pricePerMillionTokens: given }).prices).toBe(given);
  for (const model of ["gemini-3.1-pro-preview", "toString"]) {
    expect(geminiSettings({ apiKey: "k", model }).prices).toBeUndefined();
  }
});

test("a model has one name, with and without its folder, and a tuned one keeps its own", () => {
  const of = (model: string) => geminiSettings({ apiKey: "k", model });
  const flash = { model: "gemini-2.5-flash", prices: { input: 0.3, output: 2.5 } };
  expect(of("models/gemini-2.5-flash")).toMatchObject(flash);
  expect(of("tunedModels/my-memory").model).toBe("tunedModels/my-memory");
});
