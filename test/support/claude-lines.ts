import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** A line of a transcript of Claude Code. `number` makes its uuid, its time and the id of its reply, unless they are given. */
export interface Said {
  number: number;
  text: string;
  isReply?: boolean;
  after?: number;
  uuid?: string;
  atMs?: number;
  replyId?: string;
  agentId?: string;
  /** The folder in which it was said. */
  cwd?: string;
}

const FIRST_MS = Date.UTC(2026, 4, 4, 9);

export function uuidOf(number: number): string {
  return `7a3c5e10-4b2d-4f68-9c01-${String(number).padStart(12, "0")}`;
}

export function sessionIdOf(number: number): string {
  return `c0ffee00-1111-4222-8333-${String(number).padStart(12, "0")}`;
}

/** Writes a transcript. Prompts and replies take turns, unless they say otherwise. */
export function writeTranscript(
  path: string,
  sessionId: string,
  said: readonly Said[],
  cwd = "/home/mo/harbor",
): string {
  const lines = said.map((one, index) => {
    const { number, text, after = said[index - 1]?.number, uuid = uuidOf(number), agentId } = one;
    const isReply = one.isReply ?? index % 2 === 1;
    const role = isReply ? "assistant" : "user";
    const line = {
      parentUuid: after === undefined ? null : uuidOf(after),
      isSidechain: agentId !== undefined,
      ...(agentId !== undefined && { agentId }),
      ...{
        sessionId,
        cwd: one.cwd ?? cwd,
        uuid,
        type: role,
        timestamp: new Date(one.atMs ?? FIRST_MS + 1_000 * number).toISOString(),
      },
      message: isReply
        ? { role, id: one.replyId ?? `msg_${number}`, type: "message", content: [{ type: "text", text }] }
        : { role, content: text },
      ...(isReply && { requestId: `req_${one.replyId ?? number}` }),
    };
    return `${JSON.stringify(line)}\n`;
  });
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, lines.join(""));
  return path;
}
