import { InvalidArgumentError, Option } from "commander";
import { StoreError } from "../../core/errors.ts";
import { sessionIds } from "../../session/aids/session-ids.ts";
import type { Store } from "../../session/store.ts";
import { askToAgree } from "../agreement.ts";
import type { Command, Output } from "../command.ts";
import { Failure } from "../failure.ts";
import type { Terminal } from "../screen/terminal.ts";
import { formatCount, formatNumber, oneLine } from "../screen/text.ts";
import { findProject } from "../stores/find-project.ts";
import { findSession, SESSION_MEANING } from "../stores/find-session.ts";
import { SINCE_OPTION, UNTIL_OPTION } from "../stores/scope.ts";
import { secretsForgotten } from "./secrets.ts";

interface ForgetFlags {
  project?: string;
  since?: number;
  until?: number;
  messages?: number[];
  related?: true;
  dryRun?: true;
  yes?: true;
  restore?: true;
  secrets?: true;
}

type ForgetReport = ReturnType<Store["forget"]>;
type Wanted = NonNullable<Parameters<Store["forget"]>[1]>;

const NOT_WITH_SECRETS = ["project", "since", "until", "messages", "related", "restore"];

/** More sessions are only counted. */
const LISTED_MAX = 12;

export const forgetCommand: Command<ForgetFlags> = {
  usage: "forget [sessions...]",
  summary: "Delete sessions, some of their messages, or all that hold secrets, permanently.",
  details:
    "It shows what would go, and asks. It also shows what has the same messages or came of them: copies in sessions that were " +
    "resumed under another id, forks, and subagents. --related deletes these, too. A message is deleted together with its step " +
    "and the summaries that cover it. At the end, the file is searched for what was deleted. Only a backup brings it back: " +
    "imports, watches and pulls leave out what was forgotten, also in a longer version of its file, or in a copy under another " +
    "name. A session that was forgotten as a whole stays out as a whole. After --restore, the next import brings it back, if its " +
    "file is still there. A copy that was pulled from a hub is forgotten only here.\n" +
    "--secrets finds what looks like a key, a token or a password. `import` and `watch` replace these by placeholders, but `append`, " +
    "entries, items and older versions do not. A stored message is never altered, so whole messages are deleted. Titles, entries and " +
    "items stay. A model has seen the secrets, so revoke them too.\n" +
    "With --json: {messageCount, tokenCount, sessionCount, clusterCount, summaryCount, artifactCount, isCopy, related: " +
    "[{sessionId, relation, messageCount, messageIds}], erased, stillIn: [{sessionId, count}], isDryRun}; with --restore: {restored}; with --secrets: " +
    "{secrets: [{kind, sessionId, messageId, masked, place}], messageCount, summaryCount, erased, copies}.",
  argument: SESSION_MEANING,
  options: [
    new Option("--project <name>", "all sessions of this project"),
    SINCE_OPTION,
    UNTIL_OPTION,
    new Option("--messages <ids>", "only these messages of one session, by id, separated by commas").argParser(
      messageIds,
    ),
    new Option("--related", "delete also copies, forks and what was started by them"),
    new Option("--dry-run", "show what would be deleted, and delete nothing"),
    new Option("--yes", "delete without asking"),
    new Option("--restore", "let imports bring back what was forgotten"),
    new Option("--secrets", "the messages of all sessions that hold keys or tokens").conflicts(NOT_WITH_SECRETS),
  ],
  examples: [
    "support-42",
    "support-42 --messages 17,18",
    "support-42 --dry-run",
    "--project shop --since yesterday",
    "support-42 --restore",
    "--secrets --dry-run",
  ],

  async run(call) {
    const { args, options, loadStores, terminal, json } = call;
    const { messages, since, until, related, dryRun = false, yes = false, restore, secrets } = options;
    if (secrets && args.length > 0) {
      const hint = "coppice forget --secrets --dry-run lists what it finds, by session";
      throw new Failure("USAGE_INVALID", "--secrets looks in all sessions, so name none.", { hint });
    }
    if (secrets) return secretsForgotten(call, { dryRun, yes });
    const store = (await loadStores()).openToWrite({ mustExist: true });
    if (restore) return restored(store, args, messages === undefined ? {} : { messageIds: messages });
    const ids = sessionsOf(store, args, options);
    const wanted: Wanted = {
      ...(messages !== undefined && { messageIds: messages }),
      ...(since !== undefined && { sinceMs: since }),
      ...(until !== undefined && { untilMs: until }),
      ...(related && { related }),
    };
    if (dryRun || !yes) {
      const preview = store.forget(ids, { ...wanted, dryRun: true });
      const lines = [...previewLines(ids, preview, related === true)];
      if (dryRun) return { value: { ...preview, isDryRun: true }, lines: [...lines, "Nothing was forgotten."] };
      if (!json) for (const line of lines) terminal.note(line);
      if (!related && (preview.related ?? []).length > 0) wanted.related = await askToAgree(RELATED, terminal, json);
      const isAgreed = await askToAgree(QUESTION, terminal, json);
      if (!isAgreed) return { value: { ...preview, isDryRun: true }, lines: [] };
    }
    const report = store.forget(ids, wanted);
    const lines = reportLines(ids, report, wanted.related === true, terminal);
    return { value: { ...report, isDryRun: false }, lines };
  },
};

const UNASKED = {
  message: "Forgetting needs your agreement. Nothing was forgotten.",
  hint: "Add --yes to agree, or --dry-run to see what would go.",
};
const QUESTION = { text: "Forget this?", refused: "Nothing was forgotten.", unasked: UNASKED };
const RELATED = { text: "Forget also what is related?", refused: "What is related stays.", unasked: UNASKED };

/** Returns the ids of the sessions that were named, of a project's, or of all if only a time was given. */
function sessionsOf(store: Store, typed: readonly string[], { project, since, until }: ForgetFlags): string[] {
  const isTimed = since !== undefined || until !== undefined;
  if (typed.length === 0 && project === undefined && !isTimed) {
    const hint = "Name sessions, or use --project, --since or --until.";
    throw new Failure("USAGE_INVALID", "Forget what? No session was named.", { hint });
  }
  const named = typed.map((one) => findSession(store, one).id);
  if (project === undefined) return typed.length > 0 ? named : sessionIds(store);
  return [...new Set([...named, ...sessionIds(store, { project: findProject(store, project) })])];
}

function nameOf(ids: readonly string[]): string {
  return ids.length === 1 ? oneLine(ids[0]!) : formatCount(ids.length, "session");
}

function* previewLines(ids: readonly string[], preview: ForgetReport, isRelatedToo: boolean): Generator<string> {
  const { messageCount, tokenCount, sessionCount, clusterCount, summaryCount, artifactCount, related } = preview;
  const messages = `${formatCount(messageCount, "message")} with ${formatCount(tokenCount, "token")}`;
  const isWhole = sessionCount > 0 && ids.length === 1;
  if (isWhole && sessionCount === 1) yield `To forget: the session ${nameOf(ids)}, ${messages}.`;
  else if (sessionCount > 0) yield `To forget: ${formatCount(sessionCount, "whole session")}, in all ${messages}.`;
  else yield `To forget: ${messages} of ${nameOf(ids)}.`;
  const clusters = formatCount(clusterCount, "cluster");
  if (clusterCount > 0) yield sessionCount > 0 ? `With it: ${clusters}.` : `${clusters} would lose messages or go.`;
  if (summaryCount > 0) yield `Summaries that cover them, and would go: ${formatNumber(summaryCount)}.`;
  if (preview.isCopy) yield "Some of it is a copy from the hub, so only this store forgets that.";
  if (artifactCount > 0) yield `Long texts that only they hold: ${formatNumber(artifactCount)}.`;
  const isShared = related?.some(({ relation }) => relation === "fork") ?? false;
  yield* relatedLines(related, isRelatedToo || isShared ? "These go, too:" : "These stay, without --related:");
  if (isShared && !isRelatedToo) yield "Forks share the messages, so all of this goes only with --related.";
}

const RELATIONS = { fork: "a fork of it", copy: "copies", started: "started by it" };

function* relatedLines(related: ForgetReport["related"], heading: string): Generator<string> {
  if (related === null) yield "The file is damaged, so copies of it in other sessions cannot be looked for.";
  if (related === null || related.length === 0) return;
  yield heading;
  for (const { sessionId, relation, messageCount, messageIds } of related.slice(0, LISTED_MAX)) {
    const messages = formatCount(messageCount, "message");
    yield `  ${messageIds === null ? `all ${messages}` : messages} of ${oneLine(sessionId)} (${RELATIONS[relation]})`;
  }
  if (related.length > LISTED_MAX) yield `  … and ${formatCount(related.length - LISTED_MAX, "other session")}`;
}

function* reportLines(
  ids: readonly string[],
  report: ForgetReport,
  isRelatedToo: boolean,
  terminal: Terminal,
): Generator<string> {
  const { messageCount, summaryCount, related } = report;
  yield `Forgot ${formatCount(messageCount, "message")} of ${nameOf(ids)} and ${formatCount(summaryCount, "summary", "summaries")}.`;
  yield* relatedLines(related, isRelatedToo ? "These went, too:" : "These stay:");
  if (!isRelatedToo && related !== null && related.length > 0) yield* commandsFor(related);
  yield* foundLines(report);
  if (report.isCopy) {
    yield "Only this store forgot them, because it has a copy. Whoever began the session can forget them for everyone.";
  }
  const restored = ids.length === 1 ? ids[0] : "<session>";
  terminal.hint(`Imports leave them out. To let one bring them back: coppice forget ${restored} --restore`);
}

/** Returns the commands that forget what is related to something that is gone. */
function* commandsFor(related: NonNullable<ForgetReport["related"]>): Generator<string> {
  const whole = related.filter(({ messageIds }) => messageIds === null).map(({ sessionId }) => oneLine(sessionId));
  const commands = related.flatMap(({ sessionId, messageIds }) =>
    messageIds === null ? [] : [`coppice forget ${oneLine(sessionId)} --messages ${messageIds.join(",")}`],
  );
  yield "To forget them, too:";
  for (const command of [...(whole.length > 0 ? [`coppice forget ${whole.join(" ")}`] : []), ...commands]) {
    yield `  ${command}`;
  }
}

/** Says what a search of the file has found. */
function* foundLines({ erased, stillIn }: ForgetReport): Generator<string> {
  if (!erased) {
    yield "Another process is reading, the disk is full, or the index beside the file cannot be removed, so free space or the index still holds them. The next program that writes erases them when it ends: `coppice watch --once`, or `store.forget([])`.";
  } else if (stillIn === null) {
    yield "The messages were damaged, so the file was not searched for what is left of them.";
  } else if (stillIn.length === 0) {
    yield "The file holds no byte of them.";
  } else {
    const count = stillIn.reduce((sum, one) => sum + one.count, 0);
    const named = stillIn.slice(0, LISTED_MAX).map((one) => `${oneLine(one.sessionId)} (${formatNumber(one.count)})`);
    const more = stillIn.length > LISTED_MAX ? ", …" : "";
    yield `The messages are gone, but the file still holds text of them, in ${formatCount(count, "place")} of ${formatCount(stillIn.length, "other session")}: ${named.join(", ")}${more}`;
  }
}

/**
 * Lets imports bring back sessions or messages. A session that was forgotten as a whole is found only by its full id. What was
 * typed is tried first, because it may also be the beginning of another session's id.
 */
function restored(store: Store, typed: readonly string[], wanted: { messageIds?: readonly number[] }): Output {
  if (typed.length === 0) throw new Failure("USAGE_INVALID", "Restore what? No session was named.");
  const ids = typed.map((one) => {
    const id = [one, sessionId(store, one)].find((tried) => store.restore(tried, wanted));
    if (id !== undefined) return id;
    const hint = "Give the full id that the session had, and no ids of messages to restore all of it.";
    throw new Failure("SESSION_NOT_FOUND", `Nothing of the session ${one} was forgotten.`, { hint });
  });
  const lines = [`The next import of its file brings back what was forgotten of ${ids.map(oneLine).join(", ")}.`];
  return { value: { restored: true }, lines };
}

function sessionId(store: Store, typed: string): string {
  try {
    return findSession(store, typed).id;
  } catch (error) {
    if (error instanceof Failure || StoreError.is(error)) return typed;
    throw error;
  }
}

function messageIds(text: string): number[] {
  const ids = text.split(",").map(Number);
  if (ids.every((id) => Number.isSafeInteger(id) && id > 0)) return ids;
  throw new InvalidArgumentError("Expected message ids separated by commas, such as 17,18.");
}
