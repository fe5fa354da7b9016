import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type GeminiOptions, geminiSettings } from "../../../../src/models/gemini/options.ts";

const MODEL = "gemini-3.1-flash-lite";

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
    expect(geminiSettings({}, MODEL).apiKey).toBe("gemini");
    vi.stubEnv("GOOGLE_API_KEY", "google");
    expect(geminiSettings({}, MODEL).apiKey).toBe("google");
    expect(geminiSettings({ apiKey: " given " }, MODEL).apiKey).toBe("given");
  });

  test.each([[{}], [{ apiKey: "" }], [{ apiKey: " \n" }]])("is missed at once: %j", (options) => {
    expect(() => geminiSettings(options, MODEL)).toThrow("There is no key for gemini-3.1-flash-lite.");
  });

  test.each([["two words"], ["line\nbreak"], ["ключ"], [42]])(
    "is refused, and not shown, where no header can carry it: %j",
    (apiKey) => {
      const expected = 'Expected apiKey to be a text without white space, got "[not shown]".';
      expect(() => geminiSettings({ apiKey } as GeminiOptions, MODEL)).toThrow(expected);
    },
  );
});

test("what is left out has a default", () => {
  expect(geminiSettings({ apiKey: "k" }, MODEL)).toEqual({
    apiKey: "k",
    model: "gemini-3.1-flash-lite",
    baseUrl: undefined,
    timeoutMs: 60_000,
    redact: undefined,
  });
});

test.each([
  [{ model: "" }, 'model to be the name of a model, such as gemini-3.1-flash-lite, got ""'],
  [{ model: "../files" }, 'model to be the name of a model, such as gemini-3.1-flash-lite, got "../files"'],
  [{ model: "a?key=b" }, 'model to be the name of a model, such as gemini-3.1-flash-lite, got "a?key=b"'],
  [{ timeoutMs: 0 }, "timeoutMs to be a whole number from 1 to 3,600,000, got 0"],
  [{ timeoutMs: 1.5 }, "timeoutMs to be a whole number from 1 to 3,600,000, got 1.5"],
  [{ redact: "x" }, 'redact to be a function, got "x"'],
  [{ baseUrl: "file:///etc" }, 'baseUrl to be an http or https address without password or query, got "file:///etc"'],
  [
    { baseUrl: "http://me:hunter2@host" },
    'baseUrl to be an http or https address without password or query, got "[not shown]"',
  ],
  [
    { baseUrl: "https://host?key=k" },
    'baseUrl to be an http or https address without password or query, got "[not shown]"',
  ],
  [
    { baseUrl: "me:hunter2@host" },
    'baseUrl to be an http or https address without password or query, got "[not shown]"',
  ],
])("refuses %j", (options, expected) => {
  expect(() => geminiSettings({ apiKey: "k", ...options } as GeminiOptions, MODEL)).toThrow(`Expected ${expected}.`);
});

test("a tuned model may have a folder", () => {
  expect(geminiSettings({ apiKey: "k", model: "tunedModels/my-memory" }, MODEL).model).toBe("tunedModels/my-memory");
});
