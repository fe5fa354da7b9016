import { openStore } from "../../src/index.ts";

/** Appends to a session until the demo kills it, and prints the seq of each message once it is stored. */
const [, , file, sessionId] = process.argv;
const session = openStore(file!).resume(sessionId!);
for (let count = 0; ; count++) {
  const { seq } = session.append({
    role: count % 2 === 0 ? "user" : "assistant",
    content: `Note ${count} before the lights go out.`,
  });
  process.stdout.write(`${seq}\n`);
  // Output to a pipe is written between turns of the event loop, so without a break nothing would arrive.
  await new Promise((resolve) => setImmediate(resolve));
}
