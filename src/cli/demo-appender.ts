import { openStore } from "../session/opened-store.ts";

// A program of its own: it appends to a session until `coppice demo` kills it, and sends the seq of each message once it is stored.
const [, , path] = process.argv;
const session = openStore(path!).session("killed");
for (let count = 0; ; count++) {
  const { seq } = session.append({ role: count % 2 === 0 ? "user" : "assistant", content: `Note ${count}` });
  await new Promise((resolve) => process.send!(seq, resolve));
}
