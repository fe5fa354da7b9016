import { writeSync } from "node:fs";
import { openStore } from "../../src/index.ts";
import { numberedMessage, SESSION_SETTINGS } from "./numbered-message.ts";

// Appends numbered messages to the session "s" of the store `argv[2]`, from the number `argv[3]` on and `argv[4]` of them,
// and says so on stdout, a line each, once the store has.
const [, , path, first, count] = process.argv;
const session = openStore(path!).session("s", SESSION_SETTINGS);
for (let number = Number(first); number < Number(first) + Number(count); number++) {
  const { messageId, seq } = session.append(numberedMessage(number));
  // Not through the stream: what it holds back would die with the process.
  writeSync(1, `${JSON.stringify({ number, messageId, seq })}\n`);
}
