import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { type ContextOptions, type MessageInput, openStore, type Session } from "../src/index.ts";
import { internalsOf } from "../src/session/opened-store.ts";

// Writes the store and the contexts that test/upgrade opens and renders for as long as a format is supported:
//
//     npx tsx scripts/fixture-store.ts test/fixtures/stores/format-27
//
// The number is the count of migrations. A fixture is never written again: a new format gets a new file. (The file v1.db is
// older than this script's present form.) Its messages are made up, and its clock advances by a minute at each call, so
// that the same version of the program writes the same rows, except for the ids of branches.

const [, , base] = process.argv;
const file = `${base}.db`;
if (base === undefined || existsSync(`${file}.gz`))
  throw new Error("Give a path without .db.gz that names no file yet.");

/** Options for a small window. All of them differ from the defaults. */
const SETTINGS = {
  hotSize: 4,
  overlap: 1,
  evictBatch: 4,
  maxThemes: 3,
  openClustersMax: 4,
  resolveTokensMin: 40,
  summaryTokensMax: 150,
  contextTokensMax: 1_600,
  messageTokensMax: 400,
  oldMessageTokensMax: 150,
  recentTokensMax: 300,
} as const;

let now = Date.UTC(2026, 2, 2, 9);
const store = openStore(file, { clock: () => (now += 60_000) });

const pilot = store.session("harbor-pilot", {
  ...SETTINGS,
  project: "harbor",
  title: "Tide tables for the harbor pilot",
});
pilot.append({ role: "system", content: "You help the pilots of a small harbor. Times are in UTC." });
pilot.append({ role: "user", content: "Never move the buoy at the north mole.", pinned: true, name: "Ines" });
for (const round of [0, 1, 2, 3]) await talkOfTheHarbor(pilot, round);
pilot.append({
  role: "assistant",
  content: "Half a surrogate \ud83d, a NUL \0, and a flag 🏴‍☠️ are kept as they came.",
});

const lock = store.session("lock-keeper", {
  ...SETTINGS,
  project: "harbor",
  strategy: "sandwich",
  sandwichTrigger: 0.8,
  sandwichHead: 0.1,
  sandwichTail: 0.25,
  sandwichMessagesMin: 6,
});
for (const round of [4, 5, 6]) await talkOfTheHarbor(lock, round);

const yard = store.session("yard", { ...SETTINGS, strategy: "flat", flatTrigger: 0.6, flatTail: 0.2 });
for (const round of [7, 8, 9]) await talkOfTheHarbor(yard, round);

// These two sessions were never compacted: their windows hold old messages, and their settings say how to split them.
const long = { ...SETTINGS, overlap: 12, evictBatch: 16 };
const split = store.session("split", {
  ...long,
  strategy: "sandwich",
  sandwichHead: 0.5,
  sandwichTail: 0.05,
});
const whole = store.session("whole", { ...long, strategy: "flat", sandwichMessagesMin: 40 });
for (const round of [1, 2, 3]) for (const session of [split, whole]) session.append(messagesOf(round));

const imported = internalsOf(store).intake.session(
  { source: "logbook", externalId: "log-7", createdAtMs: Date.UTC(2026, 1, 1), metadata: { ship: "Alcyone" } },
  { project: "harbor", title: "Log of the Alcyone" },
);
imported.append([
  { role: "user", content: "How deep is the channel at the second gate?", id: "m-1", metadata: { page: 12 } },
  { role: "assistant", content: "Four meters and a half at low water.", id: "m-2" },
]);
const child = internalsOf(store).intake.session({
  source: "logbook",
  externalId: "log-7-a",
  parentExternalId: "log-7",
});
child.append({ role: "user", content: "Look up the soundings of 1987." });
store.session("empty");

// A session whose project is a folder, which has a name for people and was moved once.
const FERRY = "/srv/harbor/ferry";
const ferry = internalsOf(store).intake.session(
  { source: "logbook", externalId: "log-8", metadata: { cwd: FERRY } },
  { project: FERRY },
);
ferry.append([
  { role: "user", content: "When does the ferry leave on Sundays?", id: "m-3" },
  {
    ...{ role: "assistant", content: "At nine, and at four.", id: "m-4" },
    metadata: { model: "tide-2", usage: { input_tokens: 90, output_tokens: 11 }, cost: 0.25 },
  },
]);
store.renameProject(FERRY, "ferries");
store.renameProject("/mnt/old/ferry", FERRY, { merge: true });

// A session that went back three times, once between the results of a call, and forward again once.
const turned = store.session("turned", { ...SETTINGS, project: "harbor" });
for (const round of [10, 11, 12]) await talkOfTheHarbor(turned, round);
turned.entries.append([{ id: "tide", value: { gate: 2, meters: [4.5, 5.1] } }]);
turned.append([
  { role: "user", content: "Read the soundings of both gates." },
  {
    role: "assistant",
    parts: ["first", "second"].map((gate) => ({
      type: "tool_call",
      toolCallId: gate,
      name: "read_file",
      args: { path: `soundings/${gate}.txt` },
    })),
  },
  { role: "tool", parts: [{ type: "tool_result", toolCallId: "first", content: "4.5 m at low water" }] },
]);
turned.append({ role: "tool", parts: [{ type: "tool_result", toolCallId: "second", content: "The file is empty." }] });
for (const round of [13, 14]) await talkOfTheHarbor(turned, round);
turned.entries.append([{ id: "tide", value: "skipped, because the id is known" }, { value: null }]);
turned.rewind({ toSeq: 26 });
turned.append({ role: "tool", parts: [{ type: "tool_result", toolCallId: "second", content: "5.1 m at low water" }] });
await talkOfTheHarbor(turned, 15);
turned.rewind({ toSeq: 17 });
turned.append({ role: "user", content: "Leave the soundings, and look for the paint dealer's address." });
turned.undo();
turned.rewind({ toSeq: 30 });
await talkOfTheHarbor(turned, 16);
const fork = turned.fork({ toSeq: 16, id: "turned-fork" });
for (const round of [17, 18]) await talkOfTheHarbor(fork, round);
const retry = turned.fork({ toSeq: 20, id: "turned-retry" }); // nothing is appended to it
store.items.put(["harbor", "gates"], "second", { open: false });
store.items.put(["harbor"], "seal", new Uint8Array([0, 255, 7]), { session: "turned" });

await store.upkeep();
await store.forget("harbor-pilot", { messageIds: [pilot.messages({ seqFrom: 9, limit: 1 })[0]!.id] });
writeContexts();
store.close();
writeFileSync(`${base}.db.gz`, gzipSync(readFileSync(file), { level: 9 }));
rmSync(file);

/** Writes one line of JSON for each context: the options, and the result. */
function writeContexts(): void {
  const asked: (ContextOptions & { query?: string })[] = [
    { strategy: "union-find", tokensMax: 1_000 },
    { strategy: "union-find", tokensMax: 12_000 },
    {
      strategy: "union-find",
      tokensMax: 2_000,
      query: "What did the electrician say about the antenna on channel 12?",
    },
    { strategy: "sandwich", tokensMax: 2_000 },
    { strategy: "flat", tokensMax: 2_000 },
    { strategy: "full", tokensMax: 12_000 },
    {},
  ];
  const lines = [pilot, lock, yard, split, whole, imported, turned, fork, retry].flatMap((session) =>
    asked.map(({ query, ...options }) => {
      const { messages, tokenCount } = session.render({ ...options, ...(query !== undefined && { query }) });
      const { compactableTokens } = session.pressure(options);
      return JSON.stringify({ session: session.id, options, query, tokenCount, compactableTokens, messages });
    }),
  );
  writeFileSync(`${base}.contexts.jsonl`, `${lines.join("\n")}\n`);
}

/** Appends a round of messages, then summarizes the cold ones. */
async function talkOfTheHarbor(session: Session, round: number): Promise<void> {
  session.append(messagesOf(round));
  session.compact();
  await session.resolveDirty();
  session.compact();
}

/** Returns a round of messages on three subjects, one of them with a long tool result. */
function messagesOf(round: number): MessageInput[] {
  const day = `March ${round + 2}`;
  return [
    {
      role: "user",
      content: `When is high water at the lock gate on ${day}? The tide table of the almanac is out of print.`,
    },
    {
      role: "assistant",
      parts: [
        { type: "reasoning", text: "The almanac has it, if the file can be read." },
        { type: "tool_call", toolCallId: "call_0", name: "read_file", args: { path: `tides/${day}.txt` } },
      ],
    },
    {
      role: "tool",
      parts: [{ type: "tool_result", toolCallId: "call_0", content: `${day} 04:1${round} 5.${round} m\n`.repeat(70) }],
    },
    {
      role: "assistant",
      content: `High water at the lock gate on ${day} is at 04:1${round}, the tide table says, with 5.${round} meters.`,
    },
    {
      role: "user",
      content: `The radio of the pilot boat hums on channel 12 since ${day}; what did the electrician say about its antenna?`,
    },
    {
      role: "assistant",
      content: `The electrician found salt in the antenna plug of the radio and replaced the cable of channel 12 on ${day}.`,
    },
    {
      role: "user",
      content: `Invoice number ${1_040 + round} of the paint dealer lacks the tax for the hull of the tender.`,
    },
    {
      role: "assistant",
      content: `I wrote to the paint dealer about the missing tax on invoice ${1_040 + round}; the hull of the tender is paid from the yard's budget.`,
    },
  ];
}
