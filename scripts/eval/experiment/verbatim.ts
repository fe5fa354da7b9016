import type { Message } from "../../../src/index.ts";

/** A message with the text that a context would show for it. */
export interface PlainMessage {
  message: Message;
  text: string;
}

/** Returns the newest messages in `chars` characters, and how many are before them. The first is cut to fill the room. */
export function newest(messages: readonly PlainMessage[], chars: number): { text: string; beforeCount: number } {
  const texts: string[] = [];
  let beforeCount = messages.length;
  let room = chars;
  while (beforeCount > 0 && room > 0) {
    const { text } = messages[--beforeCount]!;
    texts.push(text.slice(-room));
    room -= text.length + 1; // the line break
  }
  return { text: texts.reverse().join("\n"), beforeCount };
}

/** Returns the first messages in `chars` characters. The last is cut to fill the room. */
export function oldest(messages: readonly PlainMessage[], chars: number): string {
  const texts: string[] = [];
  let room = chars;
  for (const { text } of messages) {
    if (room <= 0) break;
    texts.push(text.slice(0, room));
    room -= text.length + 1;
  }
  return texts.join("\n");
}

/** Adds the newest of the messages that a context does not show, up to `chars` characters in all. */
export function filled(context: string, unshown: readonly PlainMessage[], chars: number): string {
  const room = chars - context.length - 1;
  return room <= 0 ? context : `${newest(unshown, room).text}\n${context}`;
}
