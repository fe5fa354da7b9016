import { answersOf, openCoordinates } from "./store.ts";

/** A process that opens a store as often as it is told to, and says what is near in it: it may crash, the parent must not. */
process.on("message", ({ path, dimension }: { path: string; dimension: number }) => {
  const store = openCoordinates(path, dimension);
  process.send!(answersOf(store, dimension, { exact: false }));
  store.close();
});
process.send!("ready");
