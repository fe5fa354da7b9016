import type { ImportEvent } from "../../../../src/importers/importer.ts";

/** Lines as Claude Code writes them, cut down to what a test is about. */

type Fields = Record<string, unknown>;

export const SESSION = "s1";

export function line(type: string, uuid: string | undefined, fields: Fields): Fields {
  return { type, sessionId: SESSION, ...(uuid !== undefined && { uuid }), ...fields };
}

export function user(uuid: string, content: unknown, fields: Fields = {}): Fields {
  return line("user", uuid, { message: { role: "user", content }, ...fields });
}

export function assistant(uuid: string, messageId: string, content: unknown, fields: Fields = {}): Fields {
  return line("assistant", uuid, { message: { id: messageId, role: "assistant", content }, ...fields });
}

export function text(words: string): Fields {
  return { type: "text", text: words };
}

export function call(id: string, input: unknown = {}): Fields {
  return { type: "tool_use", id, name: "Bash", input };
}

export function result(id: string, content: unknown = "ok"): Fields {
  return { type: "tool_result", tool_use_id: id, content };
}

/** Each message as `id role: what it says`; a call is `>id`, a result `<id`, anything else its type. */
export function outline(events: readonly ImportEvent[], session = SESSION): string[] {
  return events.flatMap((event) => {
    if (event.kind !== "message" || event.session !== session) return [];
    const said = (event.message.parts ?? []).map((part) => {
      const { type, text: words, toolCallId } = part as Fields;
      if (type === "text") return words;
      if (type === "tool_call") return `>${toolCallId}`;
      return type === "tool_result" ? `<${toolCallId}` : type;
    });
    return [`${event.message.id} ${event.message.role}: ${said.join(" ")}`.trimEnd()];
  });
}
