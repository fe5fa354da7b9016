import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { getEncoding } from "js-tiktoken";
import { importFiles } from "../../src/imports/index.ts";
import { openStore, type RenderResult, type Session, type Store } from "../../src/index.ts";
import type { Evaluation } from "../eval.ts";
import { contextText } from "./experiment/plain-text.ts";
import { inFolder } from "./folder.ts";
import { sentencesArm } from "./handover-sentences.ts";
import { mean } from "./measures.ts";
import { entireInput, readEntireSessions } from "./recall-data.ts";

const BUDGETS = [1_000, 2_000, 4_000, 8_000];
const PAGE = 500;

/** Every group must be met, and any string of a group meets it. */
type Key = (string | string[])[];

interface Cut {
  file: string;
  session: string;
  /** The last line of the file that counts, from 1; for a compressed file the index of a message, from 0. */
  cutLine: number;
  questions: { kind: string; key: Key }[];
}

const encoding = getEncoding("o200k_base");
export const tokensOf = (text: string): number[] => encoding.encode(text, [], []);
export const textOfTokens = (tokens: number[]): string => encoding.decode(tokens);

/**
 * Cuts sessions where work is in full swing, and asks what whoever goes on must know. The folder `--data` has `handover/questions.json`.
 * A question counts if its key stands in the text: every group, and any string of a group, whatever the case and the spaces. In percent:
 *
 * - `B.shipped`: in what `render` gives in B tokens of o200k.
 * - `B.newest`: in the newest messages.
 * - `B.sentences`: in single sentences of both sides in nine tenths of the room, chosen by sixty lines of script, then the newest messages.
 * - `KIND@4000.ARM`: of the questions of one kind.
 * - `refused`: contexts that could not be rendered.
 */
export async function evaluateHandover(dataFolder: string): Promise<Evaluation> {
  const folder = join(dataFolder, "handover");
  const cuts = readCuts(folder);
  const hits = new Map<string, number[]>();
  let refused = 0;
  for (const cut of cuts) {
    await inFolder(async (work) => {
      const store = openStore(join(work, "agent.db"));
      const session = await sessionOf(cut, store, { dataFolder, folder, work });
      const messages = [];
      for (let seqFrom = 0; ; seqFrom = messages.at(-1)!.seq + 1) {
        const page = session.messages({ seqFrom, limit: PAGE });
        messages.push(...page);
        if (page.length < PAGE) break;
      }
      for (const budget of BUDGETS) {
        const rendered = renderedOrRefused(session, budget);
        if (rendered === undefined) refused++;
        const arms = {
          shipped: rendered === undefined ? "" : contextText(rendered),
          newest: newestWithin(
            messages.map(({ role, text }) => `${role}: ${text}`),
            budget,
          ),
          sentences: sentencesArm(messages, budget),
        };
        for (const [arm, text] of Object.entries(arms)) {
          const plain = folded(text);
          for (const { kind, key } of cut.questions) {
            const names = [`${budget}.${arm}`, ...(budget === 4_000 ? [`${kind}@${budget}.${arm}`] : [])];
            for (const name of names) hits.set(name, [...(hits.get(name) ?? []), Number(isHeld(key, plain))]);
          }
        }
      }
      store.close();
    });
  }
  const shares = Array.from(hits, ([name, held]) => [name, Math.round(1_000 * mean(held)) / 10] as const);
  const figures = { ...Object.fromEntries(shares), refused, questions: hits.get(`${BUDGETS[0]}.newest`)!.length };
  return { name: "handover", figures };
}

function readCuts(folder: string): Cut[] {
  return JSON.parse(readFileSync(join(folder, "questions.json"), "utf8")) as Cut[];
}

/** Returns the groups of all keys about a session, each as a key. */
export function keysAbout(sessionId: string, dataFolder: string): Key[] {
  const isSame = (id: string): boolean => id.endsWith(sessionId) || sessionId.endsWith(id);
  const cuts = readCuts(join(dataFolder, "handover")).filter(({ session }) => isSame(session));
  return cuts.flatMap(({ questions }) => questions.flatMap(({ key }) => key.map((group) => [group])));
}

/** @param plain  A text that was folded. */
export function isHeld(key: Key, plain: string): boolean {
  return key.every((group) => [group].flat().some((words) => plain.includes(folded(words))));
}

interface Folders {
  dataFolder: string;
  folder: string;
  work: string;
}

async function sessionOf({ file, session: id, cutLine }: Cut, store: Store, folders: Folders): Promise<Session> {
  if (file.endsWith(".gz")) {
    const session = store.session(id, { project: "handover" });
    const source = readEntireSessions(folders.dataFolder).find(({ sid }) => sid.endsWith(id) || id.endsWith(sid));
    for (const entry of source!.messages.slice(0, cutLine + 1)) session.append(entireInput(entry));
    return session;
  }
  const path = join(folders.work, basename(file));
  const lines = readFileSync(join(folders.folder, file), "utf8").split("\n").slice(0, cutLine);
  writeFileSync(path, `${lines.join("\n")}\n`);
  await importFiles(store, [path], { summarize: false });
  const sessions = store.sessions({ limit: 50 }).sort((left, right) => right.messageCount - left.messageCount);
  return store.resume(sessions[0]!.id);
}

function renderedOrRefused(session: Session, tokensMax: number): RenderResult | undefined {
  try {
    return session.render({ tokensMax });
  } catch {
    return undefined;
  }
}

/** Returns the newest texts in a number of tokens. The first of them is cut. */
export function newestWithin(texts: readonly string[], tokensMax: number): string {
  const newest: string[] = [];
  let room = tokensMax;
  for (let index = texts.length - 1; index >= 0 && room > 0; index--) {
    const tokens = tokensOf(texts[index]!);
    newest.unshift(tokens.length <= room ? texts[index]! : textOfTokens(tokens.slice(0, room)));
    room -= tokens.length;
  }
  return newest.join("\n");
}

export function folded(text: string): string {
  return text
    .toLowerCase()
    .replace(/[`*_"'’“”]/g, "")
    .replace(/\s+/g, " ");
}
