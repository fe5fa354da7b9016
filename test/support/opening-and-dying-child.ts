import { openStore } from "../../src/index.ts";
import { watchingStatements } from "./statements.ts";

// Opens the store `argv[2]`, and dies before the statement numbered `argv[3]` that changes something.
const [, , path, number] = process.argv;
await watchingStatements(
  (at) => {
    if (at === Number(number)) process.kill(process.pid, "SIGKILL");
  },
  () => openStore(path!).close(),
);
