import { Option } from "commander";
import type { Store } from "../../session/store.ts";
import type { Command } from "../command.ts";
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
    const expansion = stores.openToRead().expand(target!, options);
    return { value: expansion, lines: lines(expansion, options, terminal) };
  },
};

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
