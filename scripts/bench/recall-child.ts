import { openStore } from "../../src/index.ts";
import { questions } from "./recall-questions.ts";

/** A fresh process that asks an existing store one question and prints the milliseconds that this took. */
const [, , path, seed, index] = process.argv;
const store = openStore(path!, { readonly: true });
const { text, options } = questions(Number(index) + 1, Number(seed)).at(-1)!;
const from = performance.now();
await store.recall(text, options);
console.log(performance.now() - from);
store.close();
