import { homedir } from "node:os";
import * as z from "zod/mini";
import { projectAt } from "../../core/project.ts";
import { REMEMBER_INPUT } from "../../session/aids/inputs.ts";
import { projectMeant } from "../../session/aids/project-meant.ts";
import type { Store } from "../../session/store.ts";
import type { Tool, ToolCall } from "../tool.ts";

const OUTPUT = z.object({
  messageId: z.int(),
  sessionId: z.string(),
  project: z.nullable(z.string()),
});

type Input = z.infer<typeof REMEMBER_INPUT>;

export const remember: Tool<Input, z.infer<typeof OUTPUT>> = {
  name: "remember",
  title: "Remember for the user",
  description:
    "Store a decision or a rule that the user wants remembered, in the user's words. Later sessions of the project are told it first. " +
    "With replaces or rejects it says that an earlier message no longer holds; with rejects, text says why. " +
    "Use it only when the user asks to remember, to correct or to reject something.",
  input: REMEMBER_INPUT,
  output: OUTPUT,
  tokensMaxDefault: 0,
  writes: true,

  async run(input, call) {
    const { text, project: _, ...given } = input;
    const said = await call.redact(text);
    return call.live.write((store) => {
      const target = given.replaces ?? given.rejects;
      // A message of another project is not found, so that nobody learns that it exists.
      if (call.project !== undefined && target !== undefined) {
        store.expand(target, { level: "step", project: call.project });
      }
      const project = projectFor(store, input, call);
      const agent = call.client === undefined ? {} : { agent: call.client };
      const stored = store.remember(said, { ...given, ...agent, ...(project !== undefined && { project }) });
      const { messageId, sessionId } = stored;
      const redacted = said === text ? "" : " What looks like a secret was replaced by a placeholder.";
      return {
        value: { messageId, sessionId, project: stored.project },
        text: `Remembered as message ${messageId}.${redacted}`,
      };
    });
  },
};

/** By default the project of the folder in which the agent has started the server. A verdict belongs to the project of its message. */
function projectFor(store: Store, { project, replaces, rejects }: Input, call: ToolCall): string | undefined {
  if (call.project !== undefined) return call.project;
  if (project !== undefined) return projectMeant(store, project);
  if (replaces !== undefined || rejects !== undefined) return undefined;
  const folder = process.cwd();
  const here = folder === homedir() || folder === "/" ? undefined : projectAt(folder);
  return here && projectMeant(store, here);
}
