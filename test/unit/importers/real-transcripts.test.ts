import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import type { Part } from "../../../src/core/message.ts";
import { isInjected } from "../../../src/core/text.ts";
import { claudeCode } from "../../../src/importers/claude-code/importer.ts";
import { codex } from "../../../src/importers/codex/importer.ts";
import { copilotCli } from "../../../src/importers/copilot-cli.ts";
import { chunksOf } from "../../../src/importers/files.ts";
import { geminiCli } from "../../../src/importers/gemini-cli/importer.ts";
import { pi } from "../../../src/importers/pi.ts";
import { detectImporter, openImport } from "../../../src/importers/registry.ts";
import { temporaryFolder } from "../../support/temporary-store.ts";
import { collect, eventsOf, messagesIn, sessionsIn, warningsIn } from "./read.ts";

/** What the real programs wrote while hooks of Coppice spoke. `scripts/agents/fixtures.ts` makes these files. */
const FOLDER = fileURLToPath(new URL("../../fixtures/importers/real", import.meta.url));

const DECISION = "We decided: the deploy region is eu-kelp-7, because every other region was too slow.";
const REPLY = "Understood, that is noted.";

/** What a person and the model said. Everything else is injected, or a summary of the program. */
const SAID = [
  { importer: claudeCode, said: [DECISION, REPLY, "Go on with the next step.", REPLY] },
  { importer: codex, said: [DECISION, REPLY, "Fill the window.", REPLY, REPLY, "Go on with the next step.", REPLY] },
  { importer: geminiCli, said: [DECISION, REPLY, "Fill the window.", REPLY, "Go on with the next step.", REPLY] },
  { importer: pi, folder: "pi-hooks", said: [DECISION, REPLY, "Go on with the next step.", REPLY] },
];

describe.each(SAID.map(({ importer, folder = importer.name, said }) => [folder, importer, said] as const))(
  "%s",
  (folder, importer, said) => {
    const [file] = readdirSync(join(FOLDER, folder));
    const content = readFileSync(join(FOLDER, folder, file!), "utf8");

    test("is read without a warning, and what hooks said is marked", async () => {
      expect(detectImporter(content)).toBe(importer);
      const events = await eventsOf(importer, content);
      expect(warningsIn(events)).toEqual([]);
      const parts = messagesIn(events).flatMap(({ parts, metadata }) =>
        (metadata as { isCompactSummary?: boolean } | undefined)?.isCompactSummary === true ? [] : (parts as Part[]),
      );
      expect(
        parts
          .filter(isInjected)
          .map((part) => JSON.stringify(part))
          .join(),
      ).toContain("coppice-memory");
      const spoken = parts.flatMap((part) => (part.type === "text" && !isInjected(part) ? [part.text] : []));
      expect(spoken).toEqual(said);
    });
  },
);

/** What the real programs wrote without hooks, from a provider on loopback. */
describe("pi", () => {
  const files = readdirSync(join(FOLDER, "pi")).sort();
  const contents = files.map((file) => readFileSync(join(FOLDER, "pi", file), "utf8"));
  const IMAGE = "What is in this image?";

  test("is read without a warning, with the branch that the user left and the file of a fork", async () => {
    const said: Record<string, string[]> = {};
    for (const content of contents) {
      expect(detectImporter(content)).toBe(pi);
      const events = await eventsOf(pi, content);
      expect(warningsIn(events)).toEqual([]);
      for (const { externalId, parentExternalId = "" } of sessionsIn(events)) {
        const words = events.flatMap((event) =>
          event.kind === "message" && event.session === externalId && event.message.role === "user"
            ? (event.message.parts as Part[]).filter((part) => part.type === "text" && !isInjected(part))
            : [],
        );
        said[`${externalId.slice(24)} of ${parentExternalId.slice(24)}`] = words.map(({ text }) =>
          String(text).slice(0, 25),
        );
      }
    }
    const before = ["We decided: the harbor tes", "Run the tests.", "! echo tide 3"].map((text) => text.slice(0, 25));
    expect(said).toEqual({
      "738d85effb97 of ": [...before, IMAGE, "I run them.\n\n---\n\n**Turn ", "Go on with the next step."],
      "738d85effb97/fork-e573cba3 of 738d85effb97": ["Write the missing file."],
      "521d3033f347 of 738d85effb97": [...before, "Describe the image in Fre"],
    });
  });
});

describe("copilot-cli", () => {
  const [file] = readdirSync(join(FOLDER, "copilot-cli"));
  const content = readFileSync(join(FOLDER, "copilot-cli", file!), "utf8");

  test("is read without a warning, with results behind their calls", async () => {
    expect(detectImporter(content)).toBe(copilotCli);
    const events = await eventsOf(copilotCli, content);
    expect(warningsIn(events)).toEqual([]);
    expect(sessionsIn(events)).toMatchObject([{ externalId: basename(file!, ".jsonl"), folder: "/home/ada/harbor" }]);
    const said = messagesIn(events).flatMap(({ role, parts }) =>
      (parts as Part[]).map((part) => [
        role[0],
        part.type,
        String(part.text ?? part.toolCallId ?? part.mediaType).slice(0, 22),
      ]),
    );
    expect(said).toEqual([
      ["u", "text", "We decided: the harbor"],
      ["a", "text", "Noted: <current_dateti"],
      ["u", "text", "Run the tests."],
      ["a", "reasoning", "The tests have to be r"],
      ["a", "text", "I run them."],
      ["a", "tool_call", "call_1"],
      ["a", "tool_call", "call_2"],
      ["t", "tool_result", "call_2"],
      ["t", "tool_result", "call_1"],
      ["a", "text", "The tests pass, one fi"],
      ["u", "text", "What is in this image?"],
      ["u", "file", "image/png"],
      ["a", "text", 'Noted: [{"type":"text"'],
      ["u", "text", "Noted: Please create a"],
      ["u", "text", "Go on with the next st"],
      ["a", "text", "Noted: <current_dateti"],
    ]);
  });
});

describe("opencode", () => {
  const folder = join(FOLDER, "opencode");
  const exported = readdirSync(folder).find((file) => file.startsWith("ses_"))!;
  const tables = readFileSync(join(folder, "opencode.db.json"), "utf8");

  /** What was said in a file, after a check that it is read without a warning. */
  async function saidIn(path: string): Promise<unknown[]> {
    const { format, events: read } = await openImport({ path, chunks: chunksOf(path) });
    expect(format).toBe("opencode");
    const events = await collect(read);
    expect(warningsIn(events)).toEqual([]);
    expect(sessionsIn(events)).toMatchObject([
      { externalId: basename(exported, ".json"), folder: "/home/ada/harbor", title: "The buoy" },
    ]);
    return messagesIn(events).map(({ id, role, parts }) => [id, role, parts]);
  }

  test("is read without a warning, and its database says what its export says", async () => {
    const path = join(temporaryFolder(), "opencode.db");
    const database = new Database(path);
    const rowsOf = JSON.parse(tables) as Record<string, { columns: string[]; rows: unknown[][] }>;
    for (const [table, { columns, rows }] of Object.entries(rowsOf)) {
      database.exec(`CREATE TABLE ${table} (${columns.join(", ")})`);
      const insert = database.prepare(`INSERT INTO ${table} VALUES (${columns.map(() => "?").join(", ")})`);
      for (const row of rows) insert.run(...row);
    }
    database.close();
    const said = await saidIn(path);
    expect(await saidIn(join(folder, exported))).toEqual(said);
    const words = said.flatMap((message) =>
      ((message as unknown[])[2] as Part[]).map((part) => [
        part.type,
        String(part.text ?? part.toolCallId).slice(0, 22),
      ]),
    );
    expect(words).toEqual([
      ["text", '"We decided: the buoy '], // `opencode run` quotes a prompt with spaces
      ["text", "Understood, that is no"],
      ["text", '"Read buoy.txt and tel'],
      ["tool_call", "call_1"],
      ["tool_result", "call_1"],
      ["text", "The buoy is red."],
      ["text", '"Go on with the next s'],
      ["text", "Understood, that is no"],
    ]);
  });
});
