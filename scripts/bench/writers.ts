import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual, promisify } from "node:util";
import { type Message, openStore, type Store } from "../../src/index.ts";
import { saidAt } from "../crash/conversation.ts";
import type { Written } from "./writer-child.ts";

const WRITER_CHILD = fileURLToPath(new URL("./writer-child.ts", import.meta.url));
const WRITERS = ["ada", "bob", "cleo", "dan"];

/**
 * Lets four processes append to one file at once: first to one session, then each to its own.
 *
 * @param count  The appends of each process in each round.
 * @returns `twoWritersLost`: acknowledged messages that are missing or changed at their acknowledged seq, messages that nobody
 *   appended, and findings of `verify`.
 */
export async function writerLosses(count = 2_000): Promise<Record<string, number>> {
  const folder = mkdtempSync(join(tmpdir(), "coppice-bench-"));
  try {
    const path = join(folder, "agent.db");
    openStore(path).close();
    const shared = await round(path, count, () => "shared");
    const own = await round(path, count, (writer) => `of ${writer}`);
    const store = openStore(path);
    const lost = lossesOf(store, shared.written) + lossesOf(store, own.written) + store.verify().problemCount;
    const speakers = store.resume("shared").messages().map(speakerOf);
    store.close();
    return {
      twoWritersLost: lost,
      twoWritersSharedPerSecond: shared.perSecond,
      twoWritersOwnPerSecond: own.perSecond,
      // The number of messages that follow one of another process. It shows that the writers wrote at the same time.
      twoWritersTurns: speakers.filter((speaker, index) => index > 0 && speaker !== speakers[index - 1]).length,
      twoWritersBusy: [...shared.written, ...own.written].reduce((sum, { busyCount }) => sum + busyCount, 0),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface WrittenBy extends Written {
  writer: string;
  sessionId: string;
}

async function round(
  path: string,
  count: number,
  sessionOf: (writer: string) => string,
): Promise<{ written: WrittenBy[]; perSecond: number }> {
  const written = await Promise.all(
    WRITERS.map(async (writer) => {
      const sessionId = sessionOf(writer);
      const args = ["--import", "tsx", WRITER_CHILD, path, sessionId, writer, String(count)];
      const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 26 });
      return { writer, sessionId, ...(JSON.parse(stdout) as Written) };
    }),
  );
  const ms = Math.max(...written.map(({ toMs }) => toMs)) - Math.min(...written.map(({ fromMs }) => fromMs));
  return { written, perSecond: (WRITERS.length * count) / (ms / 1_000) };
}

function lossesOf(store: Store, written: readonly WrittenBy[]): number {
  let losses = 0;
  for (const sessionId of new Set(written.map((one) => one.sessionId))) {
    const messages = store.resume(sessionId).messages();
    const unclaimed = new Set(messages);
    losses += messages.filter(({ seq }, index) => seq !== index).length;
    for (const { writer, seqs, messageIds } of written.filter((one) => one.sessionId === sessionId)) {
      seqs.forEach((seq, number) => {
        const message = messages[seq];
        const { role, parts, metadata } = saidAt(writer, number);
        const isThere =
          message?.id === messageIds[number] &&
          isDeepStrictEqual([message!.role, message!.parts, message!.metadata], [role, parts, metadata]);
        if (!isThere || !unclaimed.delete(message!)) losses += 1;
      });
    }
    losses += unclaimed.size;
  }
  return losses;
}

function speakerOf({ parts }: Message): string {
  return WRITERS.find((writer) => JSON.stringify(parts).includes(` of ${writer}: `))!;
}
