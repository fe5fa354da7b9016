import { Option } from "commander";
import { StoreError } from "../../core/errors.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { messageLines } from "../message-lines.ts";
import { moreLines, PAGE_OPTIONS, type PageOptions } from "../options.ts";
import type { Terminal } from "../terminal.ts";
import { formatCount } from "../text.ts";

type Expansion = ReturnType<Store["expand"]>;

type ExpandFlags = PageOptions & { level?: Expansion["level"] };

export const expandCommand: Command<ExpandFlags> = {
  usage: "expand <target>",
  summary: "Print the original messages behind a subject, theme, cluster, span or step.",
  details: "Messages are printed word for word, oldest first. With --json: {root, level, members, memberCount}.",
  argument: "a handle (theme:123@456, cluster:123, subject:77@460 or span:12@480) or the id of any message",
  options: [
    new Option("--level <level>", "for a message id: how much around it (default: its cluster)").choices([
      "step",
      "cluster",
      "theme",
      "subject",
    ]),
    ...PAGE_OPTIONS,
  ],
  examples: ["theme:123@456", "4711 --level step", "cluster:123 --limit 200 --json"],

  async run({ args: [target], options, loadStores, terminal }) {
    const store = (await loadStores()).openToRead();
    const expansion = expand(store, target!, options);
    return { value: expansion, lines: expansionLines(expansion, options, terminal) };
  },
};

/** @throws {Failure} with the right command if the target is a session. */
function expand(store: Store, target: string, options: ExpandFlags): Expansion {
  try {
    return store.expand(target, options);
  } catch (error) {
    if (!StoreError.is(error, "HANDLE_INVALID") || store.sessionIds({ prefix: target }).length === 0) throw error;
    const hint = `That is a session: coppice show ${target}, or coppice forest ${target} for its handles`;
    throw new Failure(error.code, error.message, { hint, cause: error });
  }
}

function* expansionLines(expansion: Expansion, options: ExpandFlags, terminal: Terminal): Generator<string> {
  const { root, level, members, memberCount } = expansion;
  yield `${terminal.style("bold", root ?? level)} · ${formatCount(memberCount, "message")}`;
  yield "";
  let sessionId: string | undefined;
  for (const message of members) {
    if (level === "subject" && message.sessionId !== sessionId) {
      ({ sessionId } = message);
      yield terminal.style("bold", `session ${sessionId}`);
      yield "";
    }
    yield* messageLines(message, terminal);
  }
  yield* moreLines(options, members.length, memberCount);
}
