import * as z from "zod/mini";
import { StoreError } from "./errors.ts";
import { once } from "./once.ts";
import {
  DEFAULT_SETTINGS,
  SESSION_OPTIONS,
  type SessionOption,
  type SessionOptions,
  type SessionSettings,
} from "./options.ts";
import { type FieldsOf, identifier, oneWordOf, parseOptions, safeParse, share, whole } from "./schema.ts";

/**
 * The least difference between a trigger and the shares of the context that stay verbatim. A tenth of the context is for the
 * summary, and a tenth for new messages until the next summary. `1e-9` allows for rounding errors.
 */
const FREED_SHARE_MIN = 0.2 - 1e-9;

const SETTINGS = once(() => {
  const fields = Object.entries(SESSION_OPTIONS).map(([name, option]) => [name, z.optional(schemaOf(option))]);
  return z.strictObject(Object.fromEntries(fields) as FieldsOf<SessionSettings>);
});

function schemaOf(option: (typeof SESSION_OPTIONS)[SessionOption]) {
  if ("words" in option) return oneWordOf(option.words);
  return option.unit === "share" ? share(option.min, option.max) : whole(option.min, option.max);
}

const OPTIONS = once(() =>
  z.extend(SETTINGS(), { project: z.optional(identifier()), title: z.optional(identifier()) }),
);

export function sessionOptions(given: SessionOptions): SessionOptions {
  return parseOptions("session", OPTIONS(), given) as SessionOptions;
}

/**
 * Returns the settings of a session: those given, then those stored, then the defaults.
 *
 * @throws {StoreError} `OPTION_INVALID` for an unknown name, a value out of its range, or values that exclude each other.
 */
export function sessionSettings(given: Partial<SessionSettings>, stored?: SessionSettings): SessionSettings {
  const checked: Partial<SessionSettings> = parseOptions("session", SETTINGS(), given);
  const names = Object.keys(SESSION_OPTIONS) as SessionOption[];
  const values = names.map((name) => [name, checked[name] ?? stored?.[name] ?? DEFAULT_SETTINGS[name]]);
  const settings = Object.fromEntries(values) as SessionSettings;
  checkCombinations(settings);
  return settings;
}

/** Returns the settings of a session that another version may have written: those that this one knows, and else the defaults. */
export function knownSettings(given: Readonly<Record<string, unknown>>): SessionSettings {
  const known = Object.entries(SESSION_OPTIONS).flatMap(([name, option]) =>
    name in given && safeParse(schemaOf(option), given[name]).success ? [[name, given[name]]] : [],
  );
  try {
    return sessionSettings(Object.fromEntries(known));
  } catch (error) {
    if (!StoreError.is(error, "OPTION_INVALID")) throw error;
    return DEFAULT_SETTINGS;
  }
}

function checkCombinations(settings: SessionSettings): void {
  const { overlap, evictBatch, flatTail, flatTrigger, sandwichHead, sandwichTail, sandwichTrigger } = settings;
  const { oldMessageTokensMax, messageTokensMax } = settings;
  const refuse = (option: SessionOption, expected: string): never => {
    throw new StoreError("OPTION_INVALID", { option, expected, actual: settings[option] });
  };
  if (overlap > evictBatch) {
    refuse("overlap", `at most evictBatch (${evictBatch})`);
  }
  if (flatTrigger - flatTail < FREED_SHARE_MIN) {
    refuse("flatTail", `at least 0.2 less than flatTrigger (${flatTrigger}), so that compacting frees tokens`);
  }
  if (sandwichTrigger - sandwichHead - sandwichTail < FREED_SHARE_MIN) {
    const expected = `at least 0.2 less than sandwichTrigger (${sandwichTrigger}) minus sandwichHead (${sandwichHead})`;
    refuse("sandwichTail", `${expected}, so that compacting frees tokens`);
  }
  if (oldMessageTokensMax > messageTokensMax) {
    const expected = `at most messageTokensMax (${messageTokensMax}), so that messages do not grow with age`;
    refuse("oldMessageTokensMax", expected);
  }
}
