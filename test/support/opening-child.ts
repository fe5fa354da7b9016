import { openStore } from "../../src/index.ts";

// Opens the store `argv[2]` when told to, appends to the session `argv[3]`, and says so.
const [, , path, sessionId] = process.argv;
process.on("message", () => {
  const store = openStore(path!);
  store.session(sessionId!).append({ role: "user", content: "hello" });
  store.close();
  process.send!("done");
});
process.send!("ready");
