import { answersOf, openCoordinates } from "./store.ts";

/** Opens a store on each request and answers searches in it. It is a process of its own because it may crash. */
process.on("message", ({ path, dimension }: { path: string; dimension: number }) => {
  const store = openCoordinates(path, dimension);
  process.send!(answersOf(store, dimension, { exact: false }));
  store.close();
});
process.send!("ready");
