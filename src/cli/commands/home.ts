import { basename } from "node:path";
import { beganAtMs } from "../../session/aids/every-message.ts";
import { sessionIds } from "../../session/aids/session-ids.ts";
import type { Store } from "../../session/store.ts";
import { agentCommand } from "../agent-command.ts";
import type { Command } from "../command.ts";
import { cutToWidth } from "../screen/display-width.ts";
import { formatCount, formatMoment, formatTime, oneLine } from "../screen/text.ts";
import { lastSessions } from "../stores/find-session.ts";

const OPEN_ENDS_MAX = 3;
/** The newest sessions in which something may be left open: no fewer than those whose ends `recap` looks at. */
const SESSIONS_MAX = 20;

/** `coppice` alone runs this command. Help does not list it. */
export const homeCommand: Command = {
  usage: "home",
  isHidden: true,
  summary: "Show the last session, what was left open, an error that keeps coming back, and what to do next.",
  examples: [""],

  async run({ loadStores, storePath, terminal }) {
    const { existsSync } = await import("node:fs");
    if (!existsSync(storePath)) {
      const lines = [
        `There is no store yet at ${storePath}.`,
        "",
        "  coppice watch --once    import what your agents wrote: it lists their folders, and asks",
        "  coppice demo            see what Coppice does, on the sessions of an invented project",
        "  coppice help            all commands",
      ];
      return { value: { store: storePath, sessionCount: 0, last: null, open: [], recurring: [] }, lines };
    }
    const { RECAP_MS_DEFAULT } = await import("../../session/aids/recap.ts");
    const store = (await loadStores()).openToRead();
    const sessionCount = sessionIds(store).length;
    const [last] = lastSessions(store);
    const sinceMs = (last?.updatedAtMs ?? 0) - RECAP_MS_DEFAULT;
    const fromMs = Math.max(sinceMs, newestFromMs(store));
    const topics = last === undefined ? [] : store.recap({ sinceMs: fromMs, limit: OPEN_ENDS_MAX, linesMax: 1 }).topics;
    const open = topics.flatMap((topic) => topic.open).slice(0, OPEN_ENDS_MAX);
    const recurring = store.work.friction({ limit: 1 });
    const row = (name: string, text: string): string =>
      cutToWidth(`  ${name.padEnd(14)}${oneLine(text)}`, terminal.columns);
    const goOn = last && (agentCommand(last) ?? "coppice resume @last");
    const lines = [
      terminal.style("bold", `${basename(storePath)}: ${formatCount(sessionCount, "session")}`),
      ...(last === undefined
        ? []
        : [row("last", `${formatMoment(last.updatedAtMs, Date.now())} · ${last.name ?? last.id}`)]),
      ...(goOn === undefined ? [] : [row("go on", goOn)]),
      ...open.map(({ text, messageId }) => row("left open", `message:${messageId} · ${text}`)),
      ...recurring.map(({ error, sessionCount }) =>
        row("comes back", `in ${formatCount(sessionCount, "session")}: ${error} · coppice fix`),
      ),
      row("ask", "coppice recall what did we decide about …"),
      row(
        "recap",
        sinceMs < Date.now() - 2 * RECAP_MS_DEFAULT && last !== undefined
          ? `coppice recap --since ${formatTime(sinceMs).split(" ")[0]}`
          : "coppice recap",
      ),
      row("look around", "coppice view"),
      row("all commands", "coppice help"),
    ];
    return { value: { store: storePath, sessionCount, last: last ?? null, open, recurring }, lines };
  },
};

/** Returns when the newest sessions began, so that a busy week is not read as a whole. */
function newestFromMs(store: Store): number {
  const oldest = store.sessions({ limit: 1, offset: SESSIONS_MAX - 1, hidden: false })[0];
  if (oldest === undefined) return 0;
  try {
    return beganAtMs(store.resume(oldest.id));
  } catch {
    return 0; // what is damaged of it, `doctor` says
  }
}
