import { existsSync } from "node:fs";
import { type MessageInput, openStore, type Session } from "../src/index.ts";

// Writes the store that a test of upgrades opens for as long as its format is supported:
//
//     npx tsx scripts/fixture-store.ts test/fixtures/stores/v1.db
//
// Once a format is released its fixture is never written again: a new format gets a new file. Everything in it is made up,
// and its clock ticks, so that the same version of the program writes the same rows.

const [, , path] = process.argv;
if (path === undefined || existsSync(path)) throw new Error("Give the path of a file that does not exist yet.");

let now = Date.UTC(2026, 2, 2, 9);
const store = openStore(path, { clock: () => (now += 60_000) });

const pilot = store.session("harbor-pilot", {
  project: "harbor",
  title: "Tide tables for the harbor pilot",
  hotSize: 4,
  overlap: 1,
  evictBatch: 4,
  maxThemes: 3,
  openClustersMax: 4,
  resolveTokensMin: 40,
});
pilot.append({ role: "system", content: "You help the pilots of a small harbor. Times are in UTC." });
pilot.append({ role: "user", content: "Never move the buoy at the north mole.", pinned: true, name: "Ines" });
for (const round of [0, 1, 2, 3]) await talkOfTheHarbor(pilot, round);
pilot.append({
  role: "assistant",
  content: "Half a surrogate \ud83d, a NUL \0, and a flag 🏴‍☠️ are kept as they came.",
});

const imported = store.importedSession(
  { source: "logbook", externalId: "log-7", createdAtMs: Date.UTC(2026, 1, 1), metadata: { ship: "Alcyone" } },
  { project: "harbor", title: "Log of the Alcyone" },
);
imported.appendAll([
  { role: "user", content: "How deep is the channel at the second gate?", id: "m-1", metadata: { page: 12 } },
  { role: "assistant", content: "Four meters and a half at low water.", id: "m-2" },
]);
const child = store.importedSession({ source: "logbook", externalId: "log-7-a", parentExternalId: "log-7" });
child.append({ role: "user", content: "Look up the soundings of 1987." });
store.session("empty");
store.close();

/** A round on three subjects, one of them with a tool that says much. Ends by summarizing what is cold. */
async function talkOfTheHarbor(session: Session, round: number): Promise<void> {
  const day = `March ${round + 2}`;
  const messages: MessageInput[] = [
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
      parts: [
        { type: "tool_result", toolCallId: "call_0", content: `${day} 04:1${round} 5.${round} m\n`.repeat(1_200) },
      ],
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
  session.appendAll(messages);
  await session.resolveDirty();
  session.compact();
}
