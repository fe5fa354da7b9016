import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
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

test("types", () => {
  const source = readFileSync(fileURLToPath(new URL("../../src/index.ts", import.meta.url)), "utf8");
  const names = [...source.matchAll(/^export (type )?\{([^}]*)\}/gms)].flatMap(([, type, list]) =>
    list!
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "" && (type !== undefined || name.startsWith("type ")))
      .map((name) => name.replace(/^type /, "")),
  );
  expect(names.sort()).toEqual([
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
    "importedSession",
    "nearestRoots",
    "path",
    "query",
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
