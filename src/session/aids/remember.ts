import * as z from "zod/mini";
import { StoreError } from "../../core/errors.ts";
import { messageIdOf } from "../../core/handle.ts";
import { PAGE_LIMIT_MAX } from "../../core/limits.ts";
import { once } from "../../core/once.ts";
import { textValue } from "../../core/options.ts";
import { type FieldsOf, identifier, parseOptions, whole } from "../../core/schema.ts";
import type { MessageName, RememberedNote } from "../../core/verdicts.ts";
import { assertOnPath, type Repositories } from "../../store/index.ts";
import { REMEMBERED_LIMIT_DEFAULT, type RememberedOptions } from "./remembered.ts";

export interface RememberOptions {
  /** By default that of the message that is replaced or rejected. Without one, it is of no project. */
  project?: string;
  /** The name of the person who says it. */
  by?: string;
  /** The agent that was asked to remember it. */
  agent?: string;
  /** The message that no longer holds, because this text does: its id, or `message:12`. */
  replaces?: string | number;
  /** The message that is rejected. The text says why. */
  rejects?: string | number;
}

export const REMEMBER_OPTIONS = once(() => {
  const message = z.optional(z.union([z.string(), whole(0)], { error: "the id of a message, or message:12" }));
  return z.strictObject({
    project: z.optional(identifier()),
    by: z.optional(identifier()),
    agent: z.optional(identifier()),
    replaces: message,
    rejects: message,
  } satisfies FieldsOf<RememberOptions>);
});

export const REMEMBERED_OPTIONS = once(() =>
  z.strictObject({
    project: z.optional(identifier()),
    limit: z._default(whole(0, PAGE_LIMIT_MAX), REMEMBERED_LIMIT_DEFAULT),
  } satisfies FieldsOf<RememberedOptions>),
);

/** What is to be stored. */
export interface ToRemember {
  text: string;
  project: string | undefined;
  note: RememberedNote;
}

/** @throws {StoreError} see `Store.remember`. */
export function toRemember(repositories: Repositories, given: string, options: RememberOptions): ToRemember {
  const { project, by, agent, replaces, rejects } = parseOptions("remember", REMEMBER_OPTIONS(), options);
  const text = textValue("the text", given).trim();
  if (text === "") {
    const expected = rejects === undefined ? "words to remember" : "the reason, in words";
    throw new StoreError("OPTION_INVALID", { option: "the text", expected, actual: given });
  }
  if (replaces !== undefined && rejects !== undefined) {
    const expected = "left out if `replaces` is given, which needs no reason";
    throw new StoreError("OPTION_INVALID", { option: "rejects", expected, actual: rejects });
  }
  const kind = replaces === undefined ? "rejects" : "replaces";
  const target = replaces ?? rejects;
  const named = target === undefined ? undefined : messageNamed(repositories, kind, target);
  const note = {
    ...(by !== undefined && { by }),
    ...(agent !== undefined && { agent }),
    ...(named !== undefined && { [kind]: named.name }),
  };
  return { text, project: project ?? named?.project ?? undefined, note };
}

function messageNamed(
  { database, messages, sessions }: Repositories,
  option: "replaces" | "rejects",
  target: string | number,
): { name: MessageName; project: string | null } {
  return database.read(() => {
    const messageId = messageIdOf(target);
    if (messageId === undefined) {
      throw new StoreError("OPTION_INVALID", { option, expected: "a message, such as message:12", actual: target });
    }
    const message = messages.byId(messageId);
    if (message === undefined) throw new StoreError("MESSAGE_NOT_FOUND", { messageId });
    const { sessionId, seq, createdAtMs: atMs } = message;
    const session = sessions.known(sessionId);
    assertOnPath(session);
    return { name: { sessionId, seq, atMs }, project: session.project };
  });
}
