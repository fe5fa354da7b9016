import { watchingStatements } from "./statements.ts";
import { openForEvent, STORE_EVENTS } from "./store-events.ts";

// Lets the event `argv[3]` happen to the store `argv[2]`, and dies before the statement numbered `argv[4]`.
const [, , path, event, number] = process.argv;
const store = openForEvent(path!, STORE_EVENTS[event!]!.options);
await watchingStatements(
  (at) => {
    if (at === Number(number)) process.kill(process.pid, "SIGKILL");
  },
  () => STORE_EVENTS[event!]!.happen(store),
);
