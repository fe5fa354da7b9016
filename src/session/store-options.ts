import * as z from "zod/mini";
import type { Clock } from "../core/clock.ts";
import { PAGE_LIMIT_MAX } from "../core/limits.ts";
import { once } from "../core/once.ts";
import {
  abortSignal,
  callback,
  type FieldsOf,
  type Given,
  identifier,
  listOf,
  type ObjectSchema,
  oneWordOf,
  parseOptions,
  port,
  share,
  text,
  trueOrFalse,
  unixMs,
  whole,
} from "../core/schema.ts";
import type { TokenCounter } from "../core/tokens.ts";
import { EMBED_CONCURRENCY } from "../ingest/vector-collector.ts";
import type { Embedder, LocalEmbedder, RemoteEmbedder } from "../models/embedder.ts";
import type { Summarizer } from "../models/summarizer.ts";
import type { BackupOptions, SessionsOptions } from "../store/index.ts";
import { LOST_LIMIT_DEFAULT, type LostOptions } from "./aids/lost.ts";
import { RECAP_LIMIT_DEFAULT, RECAP_LINES_DEFAULT, type RecapOptions } from "./aids/recap.ts";
import { SUBJECT_LIMIT_DEFAULT, type SubjectOptions } from "./aids/subject-page.ts";
import { SUBJECTS_LIMIT_DEFAULT, type SubjectsOptions } from "./aids/subjects.ts";
import type { ExportOptions } from "./moving/export.ts";
import type {
  DoctorOptions,
  ExcludeOptions,
  Exclusions,
  ForgetOptions,
  OpenOptions,
  ReembedOptions,
  RenameProjectOptions,
  RestoreOptions,
  UpkeepOptions,
  VerifyOptions,
} from "./store.ts";

const EMBED_WAIT_MS_MAX = 24 * 60 * 60 * 1_000;

export const EMBEDDER = once(() => {
  const expected = "an embedder, with `id`, `dimension`, `similarityMin` in [-1, 1], and `embed` or `embedAll`";
  const named = { id: "string", dimension: "number", similarityMin: "number" } as const;
  const isCosine = ({ similarityMin }: Embedder) => similarityMin >= -1 && similarityMin <= 1;
  const kinds = [
    port<LocalEmbedder>(expected, { ...named, embed: "function" }),
    port<RemoteEmbedder>(expected, { ...named, embedAll: "function" }),
  ];
  const either = z.union(kinds, { error: expected }) as z.ZodMiniType<Embedder>;
  return either.check(z.refine(isCosine, { error: expected }));
});

export const EXCLUSIONS = once(() =>
  z.strictObject({
    paths: z._default(listOf(text()), []),
    projects: z._default(listOf(identifier()), []),
  } satisfies FieldsOf<Partial<Exclusions>>),
);

export const SESSION_LIST = once(() => listOf(text()));

/** The options of each method, by its name. The interfaces document them. */
const OPTIONS = {
  openStore: () =>
    z.strictObject({
      embedder: z.optional(
        z.union([EMBEDDER(), callback<(id: string, dimension: number) => Embedder>()], {
          error: "an embedder, or a function that returns one",
        }),
      ),
      summarizer: z.optional(
        port<Summarizer>("a summarizer, with `id`, `promptVersion` and `summarize`", {
          id: "string",
          promptVersion: "number",
          summarize: "function",
        }),
      ),
      tokenCounter: z.optional(
        port<TokenCounter>("a token counter, with `name` and `count`", { name: "string", count: "function" }),
      ),
      durability: z._default(oneWordOf(["process", "power"]), "process"),
      readonly: z._default(trueOrFalse(), false),
      busyTimeoutMs: z._default(whole(0, 600_000), 5_000),
      clock: z.optional(callback<Clock>()),
    } satisfies FieldsOf<OpenOptions>),
  sessions: () =>
    z.strictObject({
      prefix: z.optional(text()),
      project: z.optional(identifier()),
      sinceMs: z.optional(unixMs()),
      tag: z.optional(identifier()),
      hidden: z.optional(trueOrFalse()),
      limit: z.optional(whole(0)),
      offset: z.optional(whole(0)),
      onUnreadable: z.optional(callback<NonNullable<SessionsOptions["onUnreadable"]>>()),
    } satisfies FieldsOf<SessionsOptions>),
  subjects: () =>
    z.strictObject({
      project: z.optional(identifier()),
      limit: z._default(whole(0, PAGE_LIMIT_MAX), SUBJECTS_LIMIT_DEFAULT),
    } satisfies FieldsOf<SubjectsOptions>),
  subject: () =>
    z.strictObject({
      limit: z._default(whole(0, PAGE_LIMIT_MAX), SUBJECT_LIMIT_DEFAULT),
      project: z.optional(identifier()),
      onUnreadable: z.optional(callback<NonNullable<SubjectOptions["onUnreadable"]>>()),
    } satisfies FieldsOf<SubjectOptions>),
  recap: () =>
    z.strictObject({
      sinceMs: z.optional(unixMs()),
      untilMs: z.optional(unixMs()),
      project: z.optional(identifier()),
      limit: z._default(whole(0, PAGE_LIMIT_MAX), RECAP_LIMIT_DEFAULT),
      linesMax: z._default(whole(0, PAGE_LIMIT_MAX), RECAP_LINES_DEFAULT),
      onUnreadable: z.optional(callback<NonNullable<RecapOptions["onUnreadable"]>>()),
    } satisfies FieldsOf<RecapOptions>),
  lost: () =>
    z.strictObject({
      sessionId: z.optional(identifier()),
      summaryId: z.optional(whole(0)),
      project: z.optional(identifier()),
      limit: z._default(whole(0, PAGE_LIMIT_MAX), LOST_LIMIT_DEFAULT),
    } satisfies FieldsOf<LostOptions>),
  upkeep: () =>
    z.strictObject({
      signal: z.optional(abortSignal()),
      only: z.optional(z.literal("vectors", { error: '"vectors", or left out' })),
      concurrency: z._default(whole(1, 64), EMBED_CONCURRENCY),
      waitMsMax: z._default(whole(0, EMBED_WAIT_MS_MAX), 0),
      onProgress: z.optional(callback<NonNullable<UpkeepOptions["onProgress"]>>()),
    } satisfies FieldsOf<UpkeepOptions>),
  reembed: () =>
    z.strictObject({
      signal: z.optional(abortSignal()),
      embedder: EMBEDDER(),
      similarityMin: z.optional(share(-1, 1)),
      onProgress: z.optional(callback<NonNullable<ReembedOptions["onProgress"]>>()),
      dryRun: z._default(trueOrFalse(), false),
    } satisfies FieldsOf<ReembedOptions>),
  verify: () =>
    z.strictObject({
      rebuild: z._default(trueOrFalse(), false),
      onProgress: z.optional(callback<NonNullable<VerifyOptions["onProgress"]>>()),
    } satisfies FieldsOf<VerifyOptions>),
  backup: () =>
    z.strictObject({
      overwrite: z.optional(trueOrFalse()),
      onProgress: z.optional(callback<NonNullable<BackupOptions["onProgress"]>>()),
    } satisfies FieldsOf<BackupOptions>),
  export: () =>
    z.strictObject({
      rows: z._default(trueOrFalse(), false),
      sessions: z.optional(listOf(text())),
      onUnreadable: z.optional(callback<NonNullable<ExportOptions["onUnreadable"]>>()),
      ownIds: z._default(trueOrFalse(), false),
    } satisfies FieldsOf<ExportOptions>),
  exclude: () =>
    z.extend(EXCLUSIONS(), { remove: z._default(trueOrFalse(), false) } satisfies FieldsOf<
      Omit<ExcludeOptions, keyof Exclusions>
    >),
  renameProject: () =>
    z.strictObject({ merge: z._default(trueOrFalse(), false) } satisfies FieldsOf<RenameProjectOptions>),
  restore: () => z.strictObject({ messageIds: z.optional(listOf(whole(1))) } satisfies FieldsOf<RestoreOptions>),
  doctor: () => z.strictObject({ deep: z._default(trueOrFalse(), false) } satisfies FieldsOf<DoctorOptions>),
  forget: () =>
    z.strictObject({
      messageIds: z.optional(listOf(whole(1))),
      sinceMs: z.optional(unixMs()),
      untilMs: z.optional(unixMs()),
      related: z._default(trueOrFalse(), false),
      dryRun: z._default(trueOrFalse(), false),
    } satisfies FieldsOf<ForgetOptions>),
};

const schemas = new Map<string, ObjectSchema>();

/** Checks the options of a method, and adds the defaults of those that were left out. @throws {StoreError} `OPTION_INVALID`. */
export function optionsOf<M extends keyof typeof OPTIONS>(
  method: M,
  given: unknown,
): Given<z.output<ReturnType<(typeof OPTIONS)[M]>>> {
  const schema = schemas.get(method) ?? OPTIONS[method]();
  schemas.set(method, schema);
  return parseOptions(method, schema, given) as Given<z.output<ReturnType<(typeof OPTIONS)[M]>>>;
}
