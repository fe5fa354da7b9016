import type { StoredSecret } from "../../imports/stored-secrets.ts";
import type { Unreadable } from "../../session/moving/export.ts";
import { askToAgree } from "../agreement.ts";
import type { Call, Output } from "../command.ts";
import { LEFT_OUT_HINT, unreadableFailure } from "../failure.ts";
import { type Column, tableLines } from "../screen/table.ts";
import { formatCount } from "../screen/text.ts";

/** `coppice forget --secrets`: finds what looks like a secret, and forgets the messages that hold it. */
export async function secretsForgotten(
  { loadStores, terminal, json }: Call<object>,
  { dryRun, yes }: { dryRun: boolean; yes: boolean },
): Promise<Output> {
  const { forgetSecrets, storedSecrets } = await import("../../imports/stored-secrets.ts");
  const stores = await loadStores();
  const store = dryRun ? stores.openToRead() : stores.openToWrite({ mustExist: true });
  const unreadable: Unreadable[] = [];
  const secrets = [...storedSecrets(store, (one) => unreadable.push(one))];
  const failure = unreadableFailure("STORE_CORRUPT", unreadable, LEFT_OUT_HINT);
  const none = { secrets, messageCount: 0, summaryCount: 0, erased: false, copies: [] };
  if (secrets.length === 0) return { value: none, lines: ["No secrets found."], failure };
  const lines = [...tableLines(COLUMNS, secrets, terminal), `${formatCount(secrets.length, "secret")}.`];
  if (dryRun) return { value: none, lines, failure };
  if (!yes && !(await askToAgree({ ...QUESTION, lines }, terminal, json))) return { value: none, lines: [], failure };
  const report = forgetSecrets(store, secrets);
  const stay = secrets.filter(({ messageId }) => messageId === null);
  const sessionIds = new Set(stay.flatMap(({ sessionId }) => sessionId ?? []));
  const itemCount = new Set(stay.flatMap(({ sessionId, place }) => (sessionId === null ? (place ?? []) : []))).size;
  return {
    value: { secrets, ...report },
    lines: [
      `Forgot ${formatCount(report.messageCount, "message")} and ${formatCount(report.summaryCount, "summary", "summaries")}.`,
      ...(report.erased
        ? []
        : ["Another process is reading, or the disk is full: free space in the file still holds them."]),
      ...report.copies.map(
        (id) =>
          `Only this store forgot those of ${id}, because it has a copy. Whoever began it can forget them for everyone.`,
      ),
      ...[...sessionIds].map((id) => `The title, entries or items of ${id} hold secrets too: coppice forget ${id}`),
      ...(itemCount === 0
        ? []
        : [`${formatCount(itemCount, "item")} of no session hold secrets too: call \`store.items.delete\`.`]),
    ],
    failure,
  };
}

const QUESTION = {
  text: "Forget the messages that hold them?",
  refused: "Nothing was forgotten.",
  unasked: {
    message: "Forgetting needs your agreement. Nothing was forgotten.",
    hint: "Add --yes to agree, or --dry-run to see what was found.",
  },
};

const COLUMNS: readonly Column<StoredSecret>[] = [
  { header: "Kind", value: ({ kind }) => kind },
  { header: "Session", value: ({ sessionId }) => sessionId ?? "" },
  { header: "Message", value: ({ messageId, place }) => messageId ?? place ?? "title" },
  { header: "Secret", value: ({ masked }) => masked },
];
