import { timeToReject } from "./abort.ts";
import { dirtyStore } from "./dirty-store.ts";

// Calls a model at `argv[2]`, aborts after `argv[3]` ms, and prints the milliseconds from the abort to the rejection.
const [, , url, afterMs] = process.argv;
const { store, session } = dirtyStore(":memory:", url!);
const ms = await timeToReject((signal) => session.resolveDirty({ signal }), Number(afterMs));
store.close();
if (ms === undefined) throw new Error("the run ended before its signal was aborted");
console.log(JSON.stringify(ms));
