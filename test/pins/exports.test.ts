import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import * as aiSdk from "../../src/adapters/ai-sdk.ts";
import * as anthropic from "../../src/adapters/anthropic.ts";
import * as gemini from "../../src/adapters/gemini.ts";
import * as llxprt from "../../src/adapters/llxprt.ts";
import * as openai from "../../src/adapters/openai.ts";
import * as adk from "../../src/frameworks/adk.ts";
import * as aiSdkChats from "../../src/frameworks/ai-sdk.ts";
import * as claudeAgentSdk from "../../src/frameworks/claude-agent-sdk.ts";
import * as langgraph from "../../src/frameworks/langgraph.ts";
import * as openaiAgents from "../../src/frameworks/openai-agents.ts";
import * as hub from "../../src/hub/index.ts";
import * as imports from "../../src/imports/index.ts";
import * as coppice from "../../src/index.ts";
import * as tools from "../../src/session/aids/tools.ts";
import * as view from "../../src/view/index.ts";

// What others depend on. A line that goes from here breaks somebody's program; a line that comes is a promise.

test("values", () => {
  expect(Object.keys(coppice).sort()).toEqual([
    "StoreError",
    "agentSummarizer",
    "geminiEmbedder",
    "geminiSummarizer",
    "openStore",
    "openaiEmbedder",
    "repairToolPairs",
    "staticEmbedder",
  ]);
});

test("values of the adapters", () => {
  expect(Object.keys(aiSdk).sort()).toEqual(["fromAiSdk", "fromUiMessages", "toAiSdk", "toUiMessages"]);
  expect(Object.keys(anthropic).sort()).toEqual(["fromAnthropic", "toAnthropic"]);
  expect(Object.keys(gemini).sort()).toEqual(["fromGemini", "toGemini"]);
  expect(Object.keys(llxprt).sort()).toEqual(["fromLlxprt", "toLlxprt"]);
  expect(Object.keys(openai).sort()).toEqual(["fromOpenai", "toOpenai"]);
});

test("values and types of the hub", () => {
  expect(Object.keys(hub).sort()).toEqual(["follow", "followedOf", "openHub", "unfollow"]);
  expect(typesIn("hub/index.ts")).toEqual([
    ...["EverywhereHit", "EverywhereOptions", "Hub", "HubSession", "PullOptions", "PulledSession"],
    ...["PushOptions", "PushProgress", "PushReport", "SyncProgress", "SyncReport"],
  ]);
});

test("values of the view", () => {
  expect(Object.keys(view)).toEqual(["serveView"]);
});

test("values and types of the frameworks", () => {
  expect(Object.keys(openaiAgents)).toEqual(["CoppiceSession"]);
  expect(typesIn("frameworks/openai-agents.ts")).toEqual(["CoppiceSessionOptions"]);
  expect(Object.keys(claudeAgentSdk)).toEqual(["CoppiceSessionStore"]);
  expect(typesIn("frameworks/claude-agent-sdk.ts")).toEqual([
    "CoppiceSessionStoreOptions",
    "SessionKey",
    "SessionStoreEntry",
    "SessionSummaryEntry",
  ]);
  expect(Object.keys(aiSdkChats).sort()).toEqual(["CoppiceChats", "contextSteps"]);
  expect(typesIn("frameworks/ai-sdk.ts")).toEqual(["ContextSteps", "PreparedStep"]);
  expect(Object.keys(adk).sort()).toEqual(["CoppiceMemoryService", "CoppiceSessionService"]);
  expect(typesIn("frameworks/adk.ts")).toEqual(["CoppiceMemoryServiceOptions"]);
  expect(Object.keys(langgraph).sort()).toEqual(["CoppiceChatMessageHistory", "CoppiceSaver", "CoppiceStore"]);
  expect(typesIn("frameworks/langgraph.ts")).toEqual(["CoppiceSaverOptions"]);
});

test("values and types of tools", () => {
  expect(Object.keys(tools)).toEqual(["agentTools"]);
  expect(typesIn("session/aids/tools.ts")).toEqual([
    "AgentTool",
    "AgentTools",
    "AgentToolsOptions",
    "ArgumentsSchema",
    "JsonSchema",
    "ToolOutcome",
  ]);
});

test("values and types of imports", () => {
  expect(Object.keys(imports).sort()).toEqual([
    "defineImporter",
    "findAgentLocations",
    "importFiles",
    "importRows",
    "surveyLocations",
    "watchFiles",
  ]);
  expect(typesIn("imports/index.ts")).toEqual([
    "AgentLocation",
    "ExportedOrigin",
    "FileReport",
    "ImportEvent",
    "ImportFile",
    "ImportFilesOptions",
    "ImportProgress",
    "ImportResult",
    "ImportWarning",
    "ImportedEntry",
    "ImportedItem",
    "ImportedMessage",
    "ImportedRows",
    "ImportedSession",
    "Importer",
    "SummaryCounts",
    "SurveyedLocation",
    "WatchEvent",
    "WatchFilesOptions",
    "WatchResult",
  ]);
});

test("types of the adapters", () => {
  const shared = ["AdaptedMessage", "AnyMessage"];
  expect(typesIn("adapters/ai-sdk.ts")).toEqual(shared);
  expect(typesIn("adapters/anthropic.ts")).toEqual([
    "AdaptedMessage",
    "AnthropicConversation",
    "AnthropicMessage",
    "AnyMessage",
    "ToAnthropicOptions",
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
    "AgentSummarizerOptions",
    "AppendOptions",
    "AppendResult",
    "BackupOptions",
    "BackupReport",
    "Branch",
    "Clock",
    "ClusterInfo",
    "CommandWay",
    "CompactResult",
    "ContextMessage",
    "ContextOptions",
    "DataPart",
    "DoctorOptions",
    "EmbedRequest",
    "EmbedResult",
    "Embedder",
    "Entries",
    "Entry",
    "EntryInput",
    "ErrorCode",
    "ExcludeOptions",
    "Exclusions",
    "ExpandOptions",
    "Expansion",
    "ExportLine",
    "ExportOptions",
    "FilePart",
    "FileSession",
    "Finding",
    "Fix",
    "ForgetOptions",
    "ForgetReport",
    "ForkOptions",
    "Friction",
    "GeminiEmbedderOptions",
    "GeminiSummarizerOptions",
    "Item",
    "ItemFilter",
    "Items",
    "JsonValue",
    "LocalEmbedder",
    "Lost",
    "LostLine",
    "LostOptions",
    "Message",
    "MessageInput",
    "MessagesOptions",
    "ModelUsage",
    "NearRoot",
    "NearestRootsOptions",
    "Omission",
    "OpenOptions",
    "OpenaiEmbedderOptions",
    "Part",
    "PartInput",
    "Pressure",
    "ProjectInfo",
    "QueryParams",
    "QueryRow",
    "ReasoningPart",
    "RecallHit",
    "RecallOptions",
    "RecallQuery",
    "Recap",
    "RecapOptions",
    "RecapTopic",
    "ReembedEstimate",
    "ReembedOptions",
    "ReembedResult",
    "RememberOptions",
    "Remembered",
    "RememberedOptions",
    "RemoteEmbedder",
    "RenameProjectOptions",
    "RenderOptions",
    "RenderResult",
    "RepairedToolPairs",
    "Replaced",
    "Rerank",
    "ResolveDirtyOptions",
    "ResolveEvent",
    "ResolveResult",
    "Resolving",
    "RestoreOptions",
    "RewindOptions",
    "RewindResult",
    "Role",
    "RootInfo",
    "Session",
    "SessionChanges",
    "SessionOptions",
    "SessionOverview",
    "SessionsOptions",
    "Source",
    "StartResolvingOptions",
    "StaticEmbedderOptions",
    "Store",
    "StoreStats",
    "Strategy",
    "SubjectInfo",
    "SubjectOptions",
    "SubjectPage",
    "SubjectsOptions",
    "SummarizeRequest",
    "Summarizer",
    "SummaryText",
    "TextPart",
    "ThemeInfo",
    "TokenBudget",
    "TokenCounter",
    "ToolCallPart",
    "ToolResultPart",
    "UndoResult",
    "UpkeepOptions",
    "Verdict",
    "VerifyOptions",
    "VerifyReport",
    "Work",
    "WorkOptions",
  ]);
});

test("what the methods of a store and a session take and return has a name that can be imported", () => {
  const known = new Set(typesIn("index.ts"));
  const ofTypeScript = ["Float32Array", "Generator", "Promise", "SessionLevel", "Symbol"];
  const named = ["store", "session"].flatMap((file) => {
    const source = readFileSync(fileURLToPath(new URL(`../../src/session/${file}.ts`, import.meta.url)), "utf8");
    const methods = source.slice(source.search(/^export interface (?:Store|Session) /m)).replace(/\/\*.*?\*\//gs, "");
    return methods.match(/\b[A-Z][A-Za-z0-9]+/g) ?? [];
  });
  expect(named.length).toBeGreaterThan(100);
  expect([...new Set(named)].filter((name) => !known.has(name) && !ofTypeScript.includes(name))).toEqual([]);
});

/** Methods and properties; the compiler sees to it that none is missing and none too many. */
const STORE_METHODS: { [M in Extract<keyof coppice.Store, string>]: true } = {
  atomically: true,
  backup: true,
  close: true,
  doctor: true,
  exclude: true,
  expand: true,
  export: true,
  forget: true,
  items: true,
  lost: true,
  nearestRoots: true,
  path: true,
  projects: true,
  query: true,
  recall: true,
  recap: true,
  reembed: true,
  remember: true,
  remembered: true,
  renameProject: true,
  restore: true,
  resume: true,
  session: true,
  sessions: true,
  stats: true,
  subject: true,
  subjects: true,
  upkeep: true,
  verify: true,
  work: true,
};
const SESSION_METHODS: { [M in Extract<keyof coppice.Session, string>]: true } = {
  append: true,
  branches: true,
  compact: true,
  edit: true,
  entries: true,
  fork: true,
  id: true,
  info: true,
  messages: true,
  pin: true,
  pressure: true,
  project: true,
  render: true,
  resolveDirty: true,
  rewind: true,
  roots: true,
  startResolving: true,
  sync: true,
  undo: true,
  update: true,
};

test("a store and a session have the methods of their interfaces", () => {
  const store = coppice.openStore(":memory:");
  const session = store.session("s");
  for (const name of Object.keys(STORE_METHODS)) expect(store).toHaveProperty(name);
  for (const name of Object.keys(SESSION_METHODS)) expect(session).toHaveProperty(name);
  store.close();
});
