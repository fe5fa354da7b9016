import { setTimeout as wait } from "node:timers/promises";
import { openStore } from "../../src/index.ts";
import { randomFrom, sessionMessages } from "./messages.ts";

/** How long each append of a writer took, in milliseconds. */
export interface DayOfWriter {
  appendMs: number[];
}

// Appends to the store `argv[2]` as agent number `argv[3]` does until its parent disconnects, but with pauses of milliseconds. It
// begins a new session now and then.
const [, , path, number] = process.argv;
const random = randomFrom(Number(number));
const store = openStore(path!);
const said = sessionMessages(Number(number));
const day: DayOfWriter = { appendMs: [] };
let isOver = false;
process.once("disconnect", () => process.exit());
process.once("message", () => {
  isOver = true;
});
let session = store.session();
while (!isOver) {
  if (random() < 0.002) session = store.session();
  const message = said.next().value!;
  const from = performance.now();
  session.append(message);
  day.appendMs.push(performance.now() - from);
  await wait(random() * 10);
}
store.close();
process.send!(day);
