/** Begins the note that replaces a string. Other texts may begin with it; `message_artifacts` lists the notes. */
export const NOTE_PREFIX = "artifact:sha256:";

/** Returns true if a string of stored parts may be a note, which stands for a long string. */
export function mayBeNote(text: string): boolean {
  return text.startsWith(NOTE_PREFIX);
}
