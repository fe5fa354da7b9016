import { openStore } from "../../src/index.ts";

/** Append to a session without end, and print the place of each message once it is stored. The demo kills it. */
const [, , file, sessionId] = process.argv;
const session = openStore(file!).resume(sessionId!);
for (let count = 0; ; count++) {
  const { seq } = session.append({
    role: count % 2 === 0 ? "user" : "assistant",
    content: `Note ${count} before the lights go out.`,
  });
  process.stdout.write(`${seq}\n`);
  // Output to a pipe is written when the event loop comes round; without a break nothing would ever arrive.
  await new Promise((resolve) => setImmediate(resolve));
}
