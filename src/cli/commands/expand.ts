import { Option } from "commander";
import { StoreError } from "../../core/errors.ts";
import { parseHandle } from "../../core/handle.ts";
import type { NearTheme } from "../../session/aids/near-themes.ts";
import { sessionIds } from "../../session/aids/session-ids.ts";
import { sessionNames } from "../../session/aids/session-name.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { LIMIT_OPTION, moreLines, type PageOptions, wholeNumberOption } from "../options.ts";
import { cutToWidth } from "../screen/display-width.ts";
import { messageHandle, messageLines } from "../screen/message-lines.ts";
import { idsShown } from "../screen/short-ids.ts";
import type { Terminal } from "../screen/terminal.ts";
import { formatCount, oneLine } from "../screen/text.ts";
import { themeLines } from "../screen/topic-lines.ts";

type Expansion = ReturnType<Store["expand"]>;

const TITLE_WIDTH = 60;
const MARK = "▶";
const NEAR_MAX = 3;

type ExpandFlags = Omit<PageOptions, "offset"> & {
  offset?: number;
  level?: Expansion["level"];
};

export const expandCommand: Command<ExpandFlags> = {
  usage: "expand <target>",
  summary: "Print the original messages behind a subject, theme, cluster, span or step.",
  details:
    "Messages are printed word for word, oldest first. With --json: {root, level, members, memberCount, offset, near}; `near` lists themes of other sessions near a theme or cluster.",
  argument: "a handle: message:12, cluster:123, theme:123@456, subject:77@460 or span:12@480",
  options: [
    new Option("--level <level>", "for a message: how much around it (default: its cluster)").choices([
      "step",
      "cluster",
      "theme",
      "subject",
    ]),
    LIMIT_OPTION,
    wholeNumberOption("offset", "messages skipped (default: for a message, those before the page around it)", 0),
  ],
  paged: true,
  examples: ["message:4711", "message:4711 --level step", "theme:123@456", "cluster:123 --limit 200 --json"],

  async run({ args: [target], options, loadStores, terminal }) {
    const store = (await loadStores()).openToRead();
    const expansion = expand(store, target!, options);
    const names = sessionNames(
      store,
      expansion.members.map(({ sessionId }) => sessionId),
    );
    const near = await nearOf(store, expansion);
    const lines = function* () {
      yield* expansionLines(expansion, target!, names, terminal);
      if (near.length === 0) return;
      yield `${terminal.style("bold", "Near this")}, in other sessions`;
      yield* themeLines(near, terminal, idsShown(store, terminal));
    };
    return { value: { ...expansion, near }, lines: lines() };
  },
};

/** Returns the themes of other sessions that are nearest to an expanded theme or cluster. */
async function nearOf(store: Store, { root, level }: Expansion): Promise<NearTheme[]> {
  if (root === null || (level !== "theme" && level !== "cluster")) return [];
  const { themesNear } = await import("../../session/aids/near-themes.ts");
  return themesNear(store, parseHandle(root).root, { limit: NEAR_MAX });
}

/** @throws {Failure} with the right command if the target is a session. */
function expand(store: Store, target: string, options: ExpandFlags): Expansion {
  try {
    return store.expand(target, options);
  } catch (error) {
    if (!StoreError.is(error, "HANDLE_INVALID") || sessionIds(store, { prefix: target }).length === 0) throw error;
    const hint = `That is a session: coppice show ${target}, or coppice forest ${target} for its handles`;
    throw new Failure(error.code, error.message, { hint, cause: error });
  }
}

/** Yields the messages. A terminal marks the one that was named, because those before it may fill the screen. */
function* expansionLines(
  expansion: Expansion,
  target: string,
  names: ReadonlyMap<string, string>,
  terminal: Terminal,
): Generator<string> {
  const { root, level, members, memberCount, offset } = expansion;
  const named = members.find(({ id }) => members.length > 1 && [messageHandle(id), String(id)].includes(target));
  const mark = named === undefined || terminal.width === undefined ? "" : MARK;
  const where = mark === "" ? "" : ` · ${mark} marks ${messageHandle(named!.id)}`;
  yield `${terminal.style("bold", root ?? level)} · ${formatCount(memberCount, "message")}${where}`;
  if (offset > 0) yield `… ${formatCount(offset, "message")} before; show them with --offset 0`;
  let sessionId: string | undefined;
  for (const message of members) {
    if (message.sessionId !== sessionId) {
      ({ sessionId } = message);
      const name = names.get(sessionId);
      const title = name === undefined ? "" : `${terminal.style("bold", cutToWidth(oneLine(name), TITLE_WIDTH))} · `;
      yield `${title}session ${oneLine(sessionId)}`;
      yield "";
    }
    const [header, ...rest] = messageLines(message, terminal);
    yield message === named && mark !== "" ? `${mark} ${header}` : header!;
    yield* rest;
  }
  yield* moreLines({ offset }, members.length, memberCount);
}
