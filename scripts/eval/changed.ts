import { join } from "node:path";
import { type MessageInput, openStore } from "../../src/index.ts";
import { inFolder } from "./folder.ts";
import { entireInput, readEntireSessions } from "./recall-data.ts";

/** What a project may decide, with a value and the value that replaces it. */
const FACTS: readonly (readonly [thing: string, old: string, now: string])[] = [
  ["staging region", "eu-west-1", "eu-north-1"],
  ["release branch", "trunk", "release/2"],
  ["test runner", "jest", "vitest"],
  ["retry limit", "3", "5"],
  ["lock timeout", "30 seconds", "2 minutes"],
  ["log format", "plain text", "JSON"],
  ["package manager", "yarn", "pnpm"],
  ["queue backend", "Redis", "SQLite"],
  ["default port", "8080", "4310"],
  ["build provider", "CircleCI", "Buildkite"],
  ["minimum compiler version", "1.21", "1.23"],
  ["config file format", "YAML", "TOML"],
  ["cache directory", "/var/cache/app", "~/.cache/app"],
  ["backup schedule", "nightly", "every six hours"],
  ["public API version", "v1", "v2"],
  ["compression codec", "gzip", "zstd"],
  ["owner of billing", "Ada", "Grace"],
  ["error budget", "1 percent", "0.1 percent"],
  ["docs host", "ReadTheDocs", "a bucket"],
  ["login provider", "Auth0", "Keycloak"],
];

interface Wording {
  role: "user" | "assistant";
  told(thing: string, old: string): string;
  changed(thing: string, old: string, now: string): string;
  asked(thing: string): string;
}

const WORDINGS: readonly Wording[] = [
  {
    role: "user",
    told: (thing, old) => `The ${thing} is ${old}. Please keep that in mind for the rest of the work.`,
    changed: (thing, old, now) => `Change of plan: the ${thing} is now ${now} instead of ${old}.`,
    asked: (thing) => `What is the ${thing} now?`,
  },
  {
    role: "user",
    told: (thing, old) => `We use ${old} as the ${thing}.`,
    changed: (thing, _, now) => `Let's switch the ${thing} to ${now}, the other one has caused too much trouble.`,
    asked: (thing) => `which ${thing} do we use now`,
  },
  {
    role: "assistant",
    told: (thing, old) => `Done. I set the ${thing} to ${old}, as you asked, and all tests pass.`,
    changed: (thing, old, now) => `The ${thing} moved from ${old} to ${now}. I updated the settings and the docs.`,
    asked: (thing) => `What did we set the ${thing} to?`,
  },
];

/** Sessions around the facts, and how many messages of each. */
const SESSIONS = 40;
const MESSAGES = 120;

/**
 * Plants facts into earlier sessions of `entire/`, and their changes into later ones, in three wordings, and asks for what holds now.
 *
 * @returns `changed.newFirst`: how many of the 60 have the change as the first hit. `changed.newBeforeOld`: how many have it before the
 *   old fact, among ten hits. `changed.marked`: how many old facts among the hits say by what they were replaced.
 */
export async function changedFigures(dataFolder: string): Promise<Record<string, number>> {
  const sessions = readEntireSessions(dataFolder).slice(0, SESSIONS);
  const figures = { "changed.newFirst": 0, "changed.newBeforeOld": 0, "changed.marked": 0 };
  if (sessions.length < SESSIONS) return {};
  for (const { role, told, changed, asked } of WORDINGS) {
    await inFolder(async (folder) => {
      const store = openStore(join(folder, "changed.db"));
      const ids = { old: new Map<string, number>(), now: new Map<string, number>() };
      for (const [index, { sid, messages }] of sessions.entries()) {
        const session = store.session(sid, { project: "entire" });
        const inputs: MessageInput[] = messages.slice(0, MESSAGES).map(entireInput);
        const [thing, old, now] = FACTS[index % FACTS.length]!;
        const isChange = index >= FACTS.length;
        const at = Math.floor((inputs.length * ((index % 7) + 1)) / 9);
        const time = inputs[Math.max(0, at - 1)]?.createdAt as number;
        const text = isChange ? changed(thing, old, now) : told(thing, old);
        // Behind a whole step.
        let place = at;
        while (place < inputs.length && inputs[place]!.role === "tool") place += 1;
        inputs.splice(place, 0, { role, content: text, createdAt: time });
        const appended = session.append(inputs);
        (isChange ? ids.now : ids.old).set(thing, appended[place]!.messageId);
      }
      await store.upkeep();
      for (const [thing] of FACTS) {
        const hits = await store.recall(asked(thing), { limit: 10 });
        const place = (id: number): number => {
          const found = hits.findIndex(({ messageId }) => messageId === id);
          return found === -1 ? Number.POSITIVE_INFINITY : found;
        };
        const [now, old] = [place(ids.now.get(thing)!), place(ids.old.get(thing)!)];
        figures["changed.newFirst"] += Number(now === 0);
        figures["changed.newBeforeOld"] += Number(now < old);

        figures["changed.marked"] += Number(hits[old]?.supersededBy === ids.now.get(thing));
      }
      store.close();
    });
  }
  return figures;
}
