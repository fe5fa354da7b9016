import type { JsonValue } from "../core/message.ts";
import type { BranchPlace } from "./branches.ts";
import { fileNameOf } from "./conversations.ts";
import type { Element } from "./document-scanner.ts";
import { readObjects } from "./documents.ts";
import type { MessageEntry } from "./entry.ts";
import type { ImportEvent, ImportFile } from "./importer.ts";
import type { JsonObject } from "./lines.ts";
import { type SessionFacts, Translator } from "./translator.ts";

/** A message of a conversation that may have several answers to one prompt. */
export interface ExportedNode {
  key: string;
  /** The node before it. Undefined for a first message, and unknown keys count as undefined. */
  parent: string | undefined;
  value: JsonValue;
}

export interface ExportFormat {
  name: string;
  /** Fields of a conversation that are lists. */
  lists: readonly string[];
  isConversation(value: JsonValue | undefined): value is JsonObject;
  sessionOf(conversation: JsonObject): Omit<SessionFacts, "externalId" | "source"> & { id: string | undefined };
  /** Returns the key of the node that the program showed last. */
  shownIn(conversation: JsonObject): string | undefined;
  /** Returns the messages. The answers to one prompt come in the order in which they were made. */
  nodesOf(conversation: JsonObject): ExportedNode[];
  /** Returns a function that reads the nodes of one conversation, each after its parent. It returns the reason if it cannot. */
  reader(): (node: ExportedNode, line: number) => MessageEntry[] | string;
}

/**
 * Reads a file with a list of conversations, or with one.
 *
 * A conversation is a tree. The path of each first answer comes first. Every other answer, and every edited prompt, begins a
 * branch, also if it is on the path that the program showed last, because a later export may show another path. The `head` event
 * names the path that is shown.
 */
export function readExport(file: ImportFile, format: ExportFormat): AsyncIterable<ImportEvent> {
  return new ExportTranslator(file, format).translate(readObjects(file, format.lists));
}

class ExportTranslator extends Translator<Element, ExportFormat> {
  readonly #ids = new Map<string, number>();
  #session!: SessionFacts;

  protected override read({ line, document, value }: Element): string | undefined {
    if (!this.given.isConversation(value)) return "expected a conversation";
    this.#addConversation(value, line, document);
  }

  protected override session(): SessionFacts {
    return this.#session;
  }

  #addConversation(conversation: JsonObject, line: number, document: number): void {
    const { id: own, ...about } = this.given.sessionOf(conversation);
    const id = own ?? fileNameOf(this.file.path, document);
    const count = (this.#ids.get(id) ?? 0) + 1;
    this.#ids.set(id, count);
    const externalId = count === 1 ? id : `${id}#${count}`;
    this.#session = { ...about, externalId, source: this.given.name };
    const branches = this.open();
    const read = this.given.reader();
    /** For each node, the newest one on its path that became a message. */
    const said = new Map<string, string | undefined>();
    const places = new Map<string, BranchPlace | undefined>();
    for (const node of pathsOf(this.given.nodesOf(conversation))) {
      const before = node.parent === undefined ? undefined : said.get(node.parent);
      const entries = read(node, line);
      if (typeof entries === "string") this.warn(line, entries);
      const isSaid = typeof entries !== "string" && entries.length > 0;
      said.set(node.key, isSaid ? node.key : before);
      if (!isSaid) continue;
      branches.rewindAfter(before);
      places.set(node.key, branches.add(entries, node.key));
    }
    const shown = places.get(said.get(this.given.shownIn(conversation) ?? "") ?? "");
    if (shown !== undefined) branches.showAt(shown);
    this.finish(true);
  }
}

/** Yields each node after its parent, and everything after a first answer before the second answer. */
function* pathsOf(nodes: readonly ExportedNode[]): Generator<ExportedNode> {
  const byKey = new Map(nodes.map((node) => [node.key, node]));
  const answers = new Map<string | undefined, ExportedNode[]>();
  for (const node of byKey.values()) {
    const parent = node.parent !== undefined && byKey.has(node.parent) ? node.parent : undefined;
    const known = answers.get(parent);
    if (known === undefined) answers.set(parent, [node]);
    else known.push(node);
  }
  const seen = new Set<ExportedNode>();
  // Only nodes that are their own ancestors are left when everything after the roots was yielded.
  const stack = [...(answers.get(undefined) ?? []), ...byKey.values()].reverse();
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (seen.has(node)) continue;
    seen.add(node);
    yield node;
    for (const answer of (answers.get(node.key) ?? []).reverse()) stack.push(answer);
  }
}
