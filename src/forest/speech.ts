/** The last message of a speaker in a cluster. */
export interface Speech {
  /** In lower case, at most 64 characters. */
  name: string;
  seq: number;
  atMs: number;
}

interface Utterance {
  seqFirst: number;
  createdAtMs: number;
  speaker: string | undefined;
  text: string;
}

const SPEAKERS_MAX = 4;
const NAME_CHARS_MAX = 64;
const NAME_CHARS_MIN = 2;
/** A speaker who spoke within both limits is in the same exchange. Imported messages may all have the same time. */
const EXCHANGE_MS = 10 * 60_000;
const EXCHANGE_MESSAGES = 50;

/** Returns the speakers of a cluster after one more step. At most four are kept, oldest first. */
export function remember(speakers: readonly Speech[], { seqFirst, createdAtMs, speaker }: Utterance): Speech[] {
  if (speaker === undefined) return [...speakers];
  const name = keyOf(speaker);
  const others = speakers.filter((speech) => speech.name !== name);
  return [...others, { name, seq: seqFirst, atMs: createdAtMs }].slice(-SPEAKERS_MAX);
}

/**
 * Finds the clusters to which a step points: where its speaker has just spoken, and where a person named in its text
 * last spoke.
 *
 * In a channel of many people this is better evidence than words (Elsner and Charniak, "Disentangling Chat",
 * Computational Linguistics 36(3), 2010). Between two people it means nothing, so frequent names count less.
 *
 * @returns `heard`: the strength of the evidence by cluster root, in (0, 1]. `crowd`: 0 between two people, near 1 in a
 * crowd.
 */
export function speechEvidence(
  step: Utterance,
  clusters: readonly { root: number; speakers: readonly Speech[] }[],
): { heard: ReadonlyMap<number, number>; crowd: number } {
  if (step.speaker === undefined) return { heard: new Map(), crowd: 0 };
  const newest = new Map<string, { speech: Speech; root: number; count: number }>();
  let total = 0;
  for (const { root, speakers } of clusters) {
    for (const speech of speakers) {
      total += 1;
      const known = newest.get(speech.name);
      if (known === undefined) newest.set(speech.name, { speech, root, count: 1 });
      else {
        known.count += 1;
        if (speech.seq > known.speech.seq) Object.assign(known, { speech, root });
      }
    }
  }
  const distinction = (count: number) => Math.max(0, 1 - 2 * Math.max(count / total, 1 / newest.size));
  const heard = new Map<number, number>();
  const hear = (root: number, strength: number) => {
    if (strength > (heard.get(root) ?? 0)) heard.set(root, strength);
  };

  const self = keyOf(step.speaker);
  for (const name of namesIn(step.text)) {
    const other = name === self ? undefined : newest.get(name);
    if (other !== undefined) hear(other.root, distinction(other.count));
  }
  const own = newest.get(self);
  if (
    own !== undefined &&
    step.createdAtMs - own.speech.atMs <= EXCHANGE_MS &&
    step.seqFirst - own.speech.seq <= EXCHANGE_MESSAGES
  ) {
    hear(own.root, distinction(own.count));
  }
  return { heard, crowd: total === 0 ? 0 : distinction(own?.count ?? 0) };
}

/** Returns the name that others use for a speaker: the first word, in lower case. */
function keyOf(speaker: string): string {
  const [first] = namesIn(speaker);
  return first ?? speaker.toLowerCase().slice(0, NAME_CHARS_MAX);
}

/** Returns every word of a text that could be a name, in lower case. */
function namesIn(text: string): Set<string> {
  const names = new Set<string>();
  for (const [run] of text.toLowerCase().matchAll(/[^\s,:;!?()<>"'@]+/g)) {
    const name = run.replace(/\.{1,3}$/, "").slice(0, NAME_CHARS_MAX);
    if (name.length >= NAME_CHARS_MIN) names.add(name);
  }
  return names;
}
