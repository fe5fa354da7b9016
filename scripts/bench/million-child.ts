import { openStore, type Session, type Store } from "../../src/index.ts";
import { hashingEmbedder } from "../../src/models/hashing-embedder.ts";
import { questions } from "./recall-questions.ts";

const [, , path, method] = process.argv;
const SESSION = "session-7";
const TEXT = questions(1, 4)[0]!.text.replaceAll('"', "");
const MESSAGES = Array.from({ length: 100 }, (_, index) => ({ role: "user" as const, content: `${index}: ${TEXT}` }));

/** Every public method. What a method needs of the store is read before it is timed. */
const METHODS: Record<string, (store: Store, session: Session) => () => unknown> = {
  "store.session": (store) => () => store.session("new", { project: "project-0" }),
  "store.resume": (store) => () => store.resume(SESSION),
  "store.sessions, by prefix": (store) => () => store.sessions({ prefix: "session-77" }),
  "store.sessions": (store) => () => store.sessions({ limit: 20 }),
  "store.expand": (store, session) => {
    const { root } = session.roots()[0]!;
    return () => store.expand(root);
  },
  "store.expand, a message": (store, session) => {
    const { id } = session.messages({ limit: 1 })[0]!;
    return () => store.expand(id);
  },
  "store.subjects": (store) => () => store.subjects({ limit: 20 }),
  "store.subject": (store) => {
    const [first] = store.subjects({ limit: 1 });
    return () => first && store.subject(first.subject);
  },
  "store.recap": (store) => () => store.recap(),
  "store.recall": (store) => () => store.recall(TEXT),
  "store.recall, a project": (store) => () => store.recall(TEXT, { project: "project-0" }),
  "store.recall, a phrase": (store) => () => store.recall(`"${TEXT.split(" ").slice(0, 2).join(" ")}" ${TEXT}`),
  "store.recall, by session": (store) => () => store.recall(TEXT, { by: "session" }),
  "store.nearestRoots": (store) => () => store.nearestRoots(TEXT),
  "store.nearestRoots, exact": (store) => () => store.nearestRoots(TEXT, { exact: true }),
  "store.query": (store) => () => store.query("SELECT count(*) FROM sessions"),
  "store.stats": (store) => () => store.stats(),
  "store.doctor": (store) => () => store.doctor(),
  "store.reembed, a dry run": (store) => () => store.reembed({ embedder: hashingEmbedder, dryRun: true }),
  "store.upkeep": (store) => () => store.upkeep(),
  "store.upkeep, vectors only": (store) => () => store.upkeep({ only: "vectors" }),
  "session.append": (_, session) => () => session.append(MESSAGES[0]!),
  "session.append of a hundred": (_, session) => () => session.append(MESSAGES),
  "session.sync": (_, session) => () => session.sync(MESSAGES),
  "session.render": (_, session) => () => session.render({ tokensMax: 16_000 }),
  "session.render, with a query": (_, session) => () =>
    session.render({ tokensMax: 16_000, query: TEXT, scope: "project" }),
  "session.pressure": (_, session) => () => session.pressure(),
  "session.resolveDirty": (_, session) => () => session.resolveDirty(),
  "session.compact": (_, session) => () => session.compact(),
  "session.messages": (_, session) => () => session.messages(),
  "session.messages, the newest": (_, session) => () => session.messages({ last: 1 })[0],
  "session.roots": (_, session) => () => session.roots(),
  "session.info": (_, session) => () => session.info(),
};

if (method === undefined) console.log(JSON.stringify(Object.keys(METHODS)));
else {
  const store = openStore(path!);
  const run = METHODS[method]!(store, store.resume(SESSION));
  const before = process.cpuUsage();
  const from = performance.now();
  await run();
  const ms = performance.now() - from;
  const { user, system } = process.cpuUsage(before);
  console.log(JSON.stringify({ ms, cpuMs: (user + system) / 1000, mb: process.resourceUsage().maxRSS / 1024 }));
  store.close();
}
