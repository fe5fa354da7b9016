import { Option } from "commander";
import { StoreError } from "../../core/errors.ts";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
import { Failure } from "../failure.ts";
import { messageLines } from "../message-lines.ts";
import { PAGE_OPTIONS, type PageOptions, restLines } from "../options.ts";
import type { Terminal } from "../terminal.ts";
import { formatCount } from "../text.ts";

type Expansion = ReturnType<Store["expand"]>;

type ExpandOptions = PageOptions & { level?: Expansion["level"] };

/** `expand` grows a summary, or what is around a message, back to the exact messages. */
export const expand: Command<ExpandOptions> = {
  name: "expand",
  summary: "Print the original messages behind a subject, a theme, a cluster, a span or a step, oldest first.",
  details: "With --json: {root, level, members, memberCount}.",
  arguments: [
    {
      name: "<target>",
      meaning: "a handle, theme:123@456, cluster:123, subject:77@460 or span:12@480, or the id of any message",
    },
  ],
  options: [
    new Option("--level <level>", "of a message: what it is in (default: its cluster)").choices([
      "step",
      "cluster",
      "theme",
      "subject",
    ]),
    ...PAGE_OPTIONS,
  ],
  examples: ["theme:123@456", "4711 --level step", "cluster:123 --limit 200 --json"],

  run({ args: [target], options, stores, terminal }) {
    const store = stores.openToRead();
    const expansion = expansionOf(store, target!, options);
    return { value: expansion, lines: lines(expansion, options, terminal) };
  },
};

/** Whoever names a session is told which command takes one. */
function expansionOf(store: Store, target: string, options: ExpandOptions): Expansion {
  try {
    return store.expand(target, options);
  } catch (error) {
    if (!StoreError.is(error, "HANDLE_INVALID") || store.sessionIds({ prefix: target }).length === 0) throw error;
    const hint = `That is a session: coppice show ${target}, or coppice forest ${target} for its handles`;
    throw new Failure(error.code, error.message, { hint, exitCode: 2, cause: error });
  }
}

function* lines(expansion: Expansion, options: ExpandOptions, terminal: Terminal): Generator<string> {
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
  yield* restLines(options, members.length, memberCount);
}
