/**
 * One path of a conversation in a transcript, in which the user may have gone back. Messages are known by the external ids that they
 * have in the store.
 */
export class TranscriptPath {
  readonly #family: TranscriptPath[];
  readonly #parent: TranscriptPath | undefined;
  /** The message of the parent that this path continues; undefined if it continues none. */
  readonly #after: string | undefined;
  readonly #ids: string[] = [];
  #indexes: Map<string, number> | undefined;

  constructor(parent?: TranscriptPath, after?: string) {
    this.#parent = parent;
    this.#after = after;
    this.#family = parent === undefined ? [] : parent.#family;
    this.#family.push(this);
  }

  /** True if the user never went back. */
  get isOnly(): boolean {
    return this.#family.length === 1;
  }

  /** Adds a message to the end. A message may come again after a pause. */
  add(id: string): void {
    if (this.#indexes?.has(id)) return;
    this.#indexes?.set(id, this.#ids.length);
    this.#ids.push(id);
  }

  /** Gives a message the first of the ids that it has in the store. It is found by the others and by its old id, too. */
  rename(id: string, idsInStore: readonly string[]): void {
    const index = this.#indexOf(id)!;
    this.#ids[index] = idsInStore[0] ?? id;
    for (const one of idsInStore) this.#indexes!.set(one, index);
  }

  /** Yields the ids of the messages before one, newest first. If it is not on this path, it yields nothing. */
  *before(id: string): Generator<string> {
    yield* this.#upTo((this.#indexOf(id) ?? 0) - 1);
  }

  /** Like `before`, beginning with the message itself. */
  *through(id: string): Generator<string> {
    yield* this.#upTo(this.#indexOf(id) ?? -1);
  }

  *#upTo(index: number): Generator<string> {
    for (let at = index; at >= 0; at--) yield this.#ids[at]!;
    if (this.#parent !== undefined && this.#after !== undefined) yield* this.#parent.through(this.#after);
  }

  /** True for a message of the transcript, on any path. */
  isInTranscript(id: string): boolean {
    return this.#family.some((path) => path.#indexOf(id) !== undefined);
  }

  /** True if the transcript has one message under a name, and another one under an id of this path. */
  hasOther(name: string, id: string): boolean {
    return this.isInTranscript(name) && this.#indexOf(name) !== this.#indexOf(id);
  }

  /** True for a message of the transcript that this path does not hold. */
  isElsewhere(id: string): boolean {
    if (this.#indexOf(id) !== undefined) return false;
    let after = this.#after;
    for (let path = this.#parent; path !== undefined; path = path.#parent) {
      const index = path.#indexOf(id);
      if (index !== undefined) return index > (after === undefined ? -1 : (path.#indexOf(after) ?? -1));
      after = path.#after;
    }
    return this.isInTranscript(id);
  }

  /** A message that has grown since its import is stored with a second one, `<id>+<number of its first parts>`. */
  #indexOf(id: string): number | undefined {
    this.#indexes ??= new Map(this.#ids.map((id, index) => [id, index]));
    return this.#indexes.get(id) ?? this.#indexes.get(id.replace(/\+\d+$/, ""));
  }
}
