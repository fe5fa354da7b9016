import { openStore } from "../../src/index.ts";
import { conversation } from "../bench/conversations.ts";
import { randomFrom, take } from "../bench/messages.ts";
import type { Evaluation } from "../eval.ts";
import { contextText } from "./experiment/plain-text.ts";
import { newest } from "./experiment/verbatim.ts";
import { fourCharacters } from "./four-characters.ts";

const SESSIONS = 11;
/** The messages of a session beside those with facts. */
const FILLER_MESSAGES = 400;
const FACTS = 40;
const BUDGETS = [2_000, 4_000];

interface Fact {
  thing: string;
  owner: string;
  value: string;
}

/** How a person tells a fact. The library was written without the second half of them in sight. */
const WORDINGS: Record<string, (fact: Fact) => string> = {
  remember: ({ thing, owner, value }) => `Please remember that the ${thing} of ${owner} is ${value}.`,
  note: ({ thing, owner, value }) => `Note: the ${thing} of ${owner} is ${value}.`,
  settled: ({ thing, owner, value }) => `We settled on ${value} for the ${thing} of ${owner}.`,
  always: ({ thing, owner, value }) => `Always use ${value} as the ${thing} of ${owner}.`,
  fromNowOn: ({ thing, owner, value }) => `From now on the ${thing} of ${owner} is ${value}.`,
  todo: ({ thing, owner, value }) => `TODO: set the ${thing} of ${owner} to ${value}.`,
  plain: ({ thing, owner, value }) => `The ${thing} of ${owner} is ${value}.`,
  byTheWay: ({ thing, owner, value }) => `By the way, ${owner} has ${value} as its ${thing} these days, as I saw.`,
  bearInMind: ({ thing, owner, value }) => `Bear in mind, ${owner} wants ${value} for its ${thing}.`,
  dontForget: ({ thing, owner, value }) => `And don't forget: ${value} is the ${thing} for ${owner}!`,
  agreed: ({ thing, owner, value }) =>
    `After some back and forth we've agreed that ${owner} gets ${value} as ${thing}.`,
  record: ({ thing, owner, value }) => `For the record, ${owner} runs with ${value} as ${thing}.`,
};

const THINGS = "port,region,bucket,queue,owner,deadline,colour,schema,channel,budget,branch,mirror".split(",");
const OWNERS =
  "billing,search,ledger,harbor,atlas,juniper,kestrel,lantern,meadow,nimbus,orchid,pelican,quarry,raven,saffron".split(
    ",",
  );

/**
 * Plants facts in generated conversations, each in one of twelve wordings, and renders at the end without a query and a model. A fact
 * is kept if its value stands in the context. In percent:
 *
 * - `facts@B.shipped`, `facts@B.newest`: the facts that contexts of B tokens keep, and that the newest messages in as many tokens keep.
 * - `facts.WORDING@B.shipped`: those in one wording.
 * - `changed@B`: of facts that were told again with another value, those whose newest value is kept. `stale@B`: those whose old value
 *   stands there without the newest. `takenBack@B`: of facts that the person took back, those that are still listed as kept.
 */
export async function evaluateFacts(): Promise<Evaluation> {
  const tallies = new Map<string, { kept: number; count: number }>();
  const tally = (name: string, isKept: boolean): void => {
    const { kept, count } = tallies.get(name) ?? { kept: 0, count: 0 };
    tallies.set(name, { kept: kept + Number(isKept), count: count + 1 });
  };
  const names = Object.keys(WORDINGS);
  for (let seed = 1; seed <= SESSIONS; seed++) {
    const random = randomFrom(seed);
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
    const value = (): string =>
      `${pick("KLMNPQRSTV".split(""))}${pick("aeiou".split(""))}x-${1_000 + Math.floor(random() * 9_000)}`;
    const pairs = OWNERS.flatMap((owner) => THINGS.map((thing) => ({ owner, thing, order: random() })));
    const planted = pairs
      .sort((left, right) => left.order - right.order)
      .slice(0, FACTS + 8)
      .map(({ owner, thing }, index) => ({ owner, thing, value: value(), wording: names[index % names.length]! }));
    const [facts, changing, leaving] = [planted.slice(0, FACTS), planted.slice(FACTS, -4), planted.slice(-4)];
    const changed = changing.map((fact) => ({ ...fact, value: value() }));
    const told: { at: number; text: string }[] = [];
    const tell = (text: string, from: number, to: number): void => {
      told.push({ at: Math.floor((from + random() * (to - from)) * FILLER_MESSAGES), text });
    };
    for (const fact of facts) tell(WORDINGS[fact.wording]!(fact), 0, 1);
    for (const fact of changing) tell(WORDINGS.remember!(fact), 0, 0.4);
    for (const fact of changed)
      tell(`The ${fact.thing} of ${fact.owner} is now ${fact.value}, please remember that.`, 0.5, 1);
    for (const fact of leaving) tell(WORDINGS.remember!(fact), 0, 0.4);
    for (const fact of leaving)
      tell(`Forget what I said about the ${fact.thing} of ${fact.owner} being ${fact.value}.`, 0.5, 1);
    const store = openStore(":memory:", { tokenCounter: fourCharacters });
    const session = store.session("facts");
    for (const [index, message] of take(conversation(seed), FILLER_MESSAGES).entries()) {
      for (const { text } of told.filter(({ at }) => at === index)) session.append({ role: "user", content: text });
      session.append(message);
    }
    const messages = session.messages().map((message) => ({ message, text: message.text }));
    for (const budget of BUDGETS) {
      const text = contextText(session.render({ tokensMax: budget }));
      const rival = newest(messages, text.length).text;
      for (const { wording, value: kept } of facts) {
        tally(`facts@${budget}.shipped`, text.includes(kept));
        tally(`facts@${budget}.newest`, rival.includes(kept));
        tally(`facts.${wording}@${budget}.shipped`, text.includes(kept));
      }
      for (const [index, { value: now }] of changed.entries()) {
        tally(`changed@${budget}`, text.includes(now));
        tally(`stale@${budget}`, text.includes(changing[index]!.value) && !text.includes(now));
      }
      const [list = ""] = /<kept[\s\S]*?<\/kept>/.exec(text) ?? [];
      for (const { value: gone } of leaving) tally(`takenBack@${budget}`, list.includes(gone));
    }
    store.close();
  }
  const figures = Object.fromEntries(
    [...tallies].map(([name, { kept, count }]) => [name, Number(((100 * kept) / count).toFixed(1))]),
  );
  return { name: "facts", figures };
}
