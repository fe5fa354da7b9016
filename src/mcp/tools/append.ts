import * as z from "zod/mini";
import type { MessageInput } from "../../core/message.ts";
import { APPEND_INPUT } from "../../session/aids/inputs.ts";
import { writableSession } from "../../session/aids/visible-session.ts";
import type { Tool } from "../tool.ts";

const OUTPUT = z.object({
  sessionId: z.string(),
  messageId: z.int(),
  seq: z.int().check(z.describe("Its number in its session, from 0")),
  appended: z.boolean().check(z.describe("False if the session already held this message under this id")),
});

export const append: Tool<z.infer<typeof APPEND_INPUT>, z.infer<typeof OUTPUT>> = {
  name: "append",
  title: "Append a message",
  description:
    "Append one message to a session permanently: a note to remember, a decision, or a turn of this conversation. " +
    "A session that does not exist is created. Stored messages are never changed. " +
    "Give an id to make retries harmless: a message is appended once under its id. " +
    "Returns the message's id and its number in the session. Use it only when the user wants something kept.",
  input: APPEND_INPUT,
  output: OUTPUT,
  tokensMaxDefault: 0,
  writes: true,

  async run({ sessionId, project, title, ...message }, { live, project: only }) {
    return live.write((store) => {
      const options = { ...(project !== undefined && { project }), ...(title !== undefined && { title }) };
      const session = writableSession(store, sessionId, options, only);
      const { messageId, seq, appended } = session.append(message as MessageInput);
      const value = { sessionId, messageId, seq, appended };
      const text = `${appended ? "Appended as" : "Already there as"} message ${messageId}, number ${seq} of its session.`;
      return { value, text };
    });
  },
};
