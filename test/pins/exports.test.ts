import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import * as aiSdk from "../../src/adapters/ai-sdk.ts";
import * as anthropic from "../../src/adapters/anthropic.ts";
import * as gemini from "../../src/adapters/gemini.ts";
import * as llxprt from "../../src/adapters/llxprt.ts";
import * as openai from "../../src/adapters/openai.ts";
import * as coppice from "../../src/index.ts";

// What others depend on. A line that goes from here breaks somebody's program; a line that comes is a promise.

test("values", () => {
  expect(Object.keys(coppice).sort()).toEqual([
    "StoreError",
    "geminiEmbedder",
    "geminiSummarizer",
    "openStore",
    "repairToolPairs",
  ]);
});

test("values of the adapters", () => {
  expect(Object.keys(aiSdk).sort()).toEqual(["fromAiSdk", "fromUiMessages", "toAiSdk", "toUiMessages"]);
  expect(Object.keys(anthropic).sort()).toEqual(["fromAnthropic", "toAnthropic"]);
  expect(Object.keys(gemini).sort()).toEqual(["fromGemini", "toGemini"]);
  expect(Object.keys(llxprt).sort()).toEqual(["fromLlxprt", "toLlxprt"]);
  expect(Object.keys(openai).sort()).toEqual(["fromOpenai", "toOpenai"]);
});

test("types of the adapters", () => {
  const shared = ["AdaptedMessage", "AnyMessage"];
  expect(typesIn("adapters/ai-sdk.ts")).toEqual(shared);
  expect(typesIn("adapters/anthropic.ts")).toEqual([
    "AdaptedMessage",
    "AnthropicConversation",
    "AnthropicMessage",
    "AnyMessage",
  ]);
  expect(typesIn("adapters/gemini.ts")).toEqual([
    "AdaptedMessage",
    "AnyMessage",
    "GeminiConversation",
    "ToGeminiOptions",
  ]);
  expect(typesIn("adapters/llxprt.ts")).toEqual([
    "AdaptedMessage",
    "AnyMessage",
    "LlxprtBlock",
    "LlxprtContent",
    "LlxprtConversation",
  ]);
  expect(typesIn("adapters/openai.ts")).toEqual(["AdaptedMessage", "AnyMessage", "OpenaiMessage"]);
});

/** Names of the types that a file of the public API lists. */
function typesIn(file: string): string[] {
  const source = readFileSync(fileURLToPath(new URL(`../../src/${file}`, import.meta.url)), "utf8");
  const names = [...source.matchAll(/^export (type )?\{([^}]*)\}/gms)].flatMap(([, type, list]) =>
    list!
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "" && (type !== undefined || name.startsWith("type ")))
      .map((name) => name.replace(/^type /, "")),
  );
  return names.sort();
}

test("types", () => {
  expect(typesIn("index.ts")).toEqual([
    "AppendResult",
    "BackupOptions",
    "BackupReport",
    "Clock",
    "CompactResult",
    "ContextMessage",
    "ContextOptions",
    "ContinuitySource",
    "DeferReason",
    "EmbedPendingOptions",
    "EmbedRequest",
    "EmbedResult",
    "Embedder",
    "ErrorCode",
    "ExpandOptions",
    "Expansion",
    "ExportLine",
    "ExportOptions",
    "ExportedMessage",
    "ExportedSession",
    "Finding",
    "ForgetReport",
    "FoundRoots",
    "GeminiEmbedderOptions",
    "GeminiSummarizerOptions",
    "JsonValue",
    "Level",
    "LocalEmbedder",
    "Message",
    "MessageInput",
    "MessagesOptions",
    "ModelUsage",
    "NearRoot",
    "NearestRootsOptions",
    "Omission",
    "OnResolveEvent",
    "OnUsage",
    "OpenOptions",
    "PairedMessage",
    "Part",
    "PartInput",
    "Pressure",
    "RecallHit",
    "RecallNeighbor",
    "RecallOptions",
    "RecallQuery",
    "Recalled",
    "ReembedEstimate",
    "ReembedOptions",
    "ReembedProgress",
    "ReembedResult",
    "RemoteEmbedder",
    "RemovedPair",
    "RenderOptions",
    "RenderResult",
    "RepairedToolPairs",
    "ResolveDirtyOptions",
    "ResolveEvent",
    "ResolveResult",
    "Resolving",
    "Role",
    "RootInfo",
    "RootSummary",
    "ScoreParts",
    "Session",
    "SessionOptions",
    "SessionOrigin",
    "SessionOverview",
    "Source",
    "SourceText",
    "StartResolvingOptions",
    "Store",
    "StoreStats",
    "Strategy",
    "SubjectInfo",
    "SubjectSession",
    "SummarizeRequest",
    "Summarizer",
    "SummaryText",
    "TokenBudget",
    "TokenCounter",
    "UnreadableMessage",
    "VerifyReport",
  ]);
});

test("methods of a store and of a session", () => {
  const store = coppice.openStore(":memory:");
  const session = store.session("s");
  const methodsOf = (value: object): string[] =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(value))
      .filter((name) => name !== "constructor")
      .sort();
  expect(methodsOf(store)).toEqual([
    "backup",
    "close",
    "doctor",
    "embedPending",
    "embedQuery",
    "erase",
    "expand",
    "export",
    "find",
    "forget",
    "forgetCount",
    "hasImportedFile",
    "importedSession",
    "nearestRoots",
    "noteImportedFiles",
    "path",
    "query",
    "queryRows",
    "recall",
    "reembed",
    "reembedEstimate",
    "resume",
    "session",
    "sessionIds",
    "sessions",
    "stats",
    "subjects",
    "upkeep",
    "verify",
  ]);
  expect(methodsOf(session)).toEqual([
    "append",
    "appendAll",
    "compact",
    "info",
    "messages",
    "newest",
    "pressure",
    "project",
    "render",
    "resolveDirty",
    "restoreAll",
    "roots",
    "startResolving",
    "sync",
  ]);
  store.close();
});
