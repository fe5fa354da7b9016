import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  compareWritesSortKeys,
  getCheckpointId,
  isDeltaSnapshot,
  JsonPlusSerializer,
  maxChannelVersion,
  type PendingWrite,
  type SerializerProtocol,
  TASKS,
  WRITES_IDX_MAP,
  type WritesSortKey,
  writesSortKey,
} from "@langchain/langgraph-checkpoint";
import { StoreError, unless } from "../../core/errors.ts";
import { setOwn } from "../../core/json.ts";
import type { Store } from "../../session/store.ts";
import { everyNamespace } from "../every.ts";
import { ChannelValues, type SerializedBytes } from "./channel-values.ts";
import { changedElements, type Difference } from "./difference.ts";
import { isMessages, listedMessage, type RecallableMessage, recallableMessage } from "./messages.ts";
import { deserialize, type Serialized, serialize } from "./serialized.ts";
import { appendRecallable, sessionIdOf } from "./thread.ts";

export interface CoppiceSaverOptions {
  /** The channel whose messages can be recalled; by default `messages`. False for none. */
  messagesChannel?: string | false;
  /** By default LangGraph's own. */
  serde?: SerializerProtocol;
}

/** A thread, and one of its namespaces: the graph itself has the empty one, and its subgraphs have others. */
interface Place {
  threadId: string;
  ns: string;
}

/** An item under the checkpoint's id. */
interface StoredCheckpoint {
  parent: string | null;
  /** Without the values of channels. */
  checkpoint: Serialized;
  metadata: Serialized;
  values: StoredChannel[];
}

/** The name under which `ChannelValues` has the value. */
type StoredChannel = [channel: string, version: string | number, ref: string];

/** An item under the id of the task and the number of the write. */
interface StoredWrite {
  taskId: string;
  taskPath: string;
  index: number;
  channel: string;
  value: Serialized;
}

/** Checkpoints that `list` reads at once. */
const PAGE = 50;

/**
 * Keeps the checkpoints of LangGraph in a store. A checkpoint holds only the channels that changed, and of these the bytes that
 * changed. A `put` is one transaction.
 *
 * The messages of a thread are also appended to the session `langgraph:` and the thread's id, where they can be recalled.
 */
export class CoppiceSaver extends BaseCheckpointSaver {
  readonly #store: Store;
  readonly #messagesChannel: string | false;
  #values: ChannelValues;
  /** For the bytes of a list, where its elements begin in them. */
  readonly #starts = new WeakMap<Uint8Array, readonly number[]>();

  constructor(store: Store, { messagesChannel = "messages", serde }: CoppiceSaverOptions = {}) {
    super(serde);
    this.#store = store;
    this.#messagesChannel = messagesChannel;
    this.#values = new ChannelValues(store);
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    if (config.configurable?.thread_id === undefined) return undefined;
    const place = placeOf(config);
    const id = getCheckpointId(config);
    if (id !== "") {
      const stored = this.#stored(place, id);
      return stored && this.#tupleOf(place, id, stored);
    }
    const [newest] = this.#page(place, 0, 1);
    return newest && this.#tupleOf(place, ...newest);
  }

  async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { limit = Number.POSITIVE_INFINITY, before, filter = {} } = options;
    const onlyId = getCheckpointId(config);
    const beforeId = before === undefined ? "" : getCheckpointId(before);
    let left = limit;
    for (const place of this.#places(config)) {
      for (const [id, stored] of this.#checkpoints(place)) {
        if (left <= 0) return;
        if ((onlyId !== "" && id !== onlyId) || (beforeId !== "" && id >= beforeId)) continue;
        const metadata = await deserialize(this.serde, stored.metadata);
        if (!Object.entries(filter).every(([key, value]) => isDeepStrictEqual(metadata[key], value))) continue;
        left -= 1;
        yield this.#tupleOf(place, id, stored);
      }
    }
  }

  async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const place = placeOf(config);
    const { channel_values: values, ...rest } = checkpoint;
    const changed = Object.keys(newVersions).filter((channel) => Object.hasOwn(values, channel));
    const [storedCheckpoint, storedMetadata] = await Promise.all([
      serialize(this.serde, { ...rest, channel_values: {} }),
      serialize(this.serde, metadata),
    ]);
    const dumped = await Promise.all(changed.map((channel) => this.#dump(values[channel])));
    const parentId = getCheckpointId(config) || null;
    const written = await this.#writtenMessages(place, parentId, changed, newVersions);
    this.#store.atomically(() => {
      const session = this.#store.session(sessionIdOf(place.threadId));
      const parent = parentId === null ? undefined : this.#stored(place, parentId);
      const replaced = this.#stored(place, checkpoint.id);
      const older = new Map(
        [...(parent?.values ?? []), ...(replaced?.values ?? [])].map((stored) => [stored[0], stored]),
      );
      const inherited = [...older.values()].filter(
        ([channel, version]) =>
          !Object.hasOwn(newVersions, channel) && checkpoint.channel_versions[channel] === version,
      );
      // A value is never replaced, because others may be stored as differences to it.
      const ref = replaced === undefined ? checkpoint.id : randomUUID();
      const stored = changed.map((channel, index): StoredChannel => {
        const serialized = dumped[index]!;
        const difference = this.#values.put({ ...place, channel }, ref, serialized, older.get(channel)?.[2]);
        if (this.#isRecallable(place, channel)) {
          appendRecallable(session, this.#changedMessages(values[channel], serialized, difference));
        }
        return [channel, newVersions[channel]!, ref];
      });
      appendRecallable(session, written);
      const item: StoredCheckpoint = {
        parent: parentId,
        checkpoint: storedCheckpoint,
        metadata: storedMetadata,
        values: [...inherited, ...stored],
      };
      this.#store.items.put(checkpointsIn(place), checkpoint.id, item, { session: session.id });
    });
    return configOf(place, checkpoint.id);
  }

  async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string, taskPath = ""): Promise<void> {
    const place = placeOf(config);
    const checkpointId = getCheckpointId(config);
    if (checkpointId === "") refuse("checkpoint_id", "the id of a checkpoint", checkpointId);
    const values = await Promise.all(writes.map(([, value]) => serialize(this.serde, value)));
    this.#store.atomically(() => {
      const session = this.#store.session(sessionIdOf(place.threadId)).id;
      const namespace = writesIn(place, checkpointId);
      writes.forEach(([channel], position) => {
        const index = (Object.hasOwn(WRITES_IDX_MAP, channel) && WRITES_IDX_MAP[channel]) || position;
        const key = JSON.stringify([taskId, index]);
        // A task that runs again writes the same. Errors, interrupts and resumes have numbers below 0, and the last one counts.
        if (index >= 0 && this.#store.items.get(namespace, key) !== undefined) return;
        const write: StoredWrite = { taskId, taskPath, index, channel, value: values[position]! };
        this.#store.items.put(namespace, key, write, { session });
      });
    });
  }

  /** Forgets the thread's session, and with it everything that the thread stored: see `forget` of the store. */
  async deleteThread(threadId: string): Promise<void> {
    this.#values = new ChannelValues(this.#store);
    unless(["SESSION_NOT_FOUND"], () => this.#store.forget(sessionIdOf(threadId)));
  }

  /** Serializes a value of a channel. The copy stays as it is if the caller changes bytes in place. */
  async #dump(value: unknown): Promise<SerializedBytes> {
    const [type, bytes] = await this.serde.dumpsTyped(value);
    return { type, bytes: new Uint8Array(bytes) };
  }

  /** Returns the messages of a channel that are not as in the version before. */
  #changedMessages(
    value: unknown,
    { type, bytes }: SerializedBytes,
    { older, ...difference }: Difference & { older?: Uint8Array },
  ): RecallableMessage[] {
    const list = isDeltaSnapshot(value) ? value.value : value;
    if (!isMessages(list)) return [];
    // The bytes of another serializer may have another form.
    const isPlainList = this.serde.constructor === JsonPlusSerializer && type === "json" && list === value;
    if (!isPlainList) return list.map(listedMessage);
    const { changed, starts } = changedElements(bytes, difference, older && this.#starts.get(older));
    this.#starts.set(bytes, starts);
    return changed.map((index) => listedMessage(list[index]!, index));
  }

  /** The messages of subgraphs are also those of the graph, or nobody's but theirs. */
  #isRecallable({ ns }: Place, channel: string): boolean {
    return ns === "" && channel === this.#messagesChannel;
  }

  /** A delta channel has no value in most checkpoints. What it got is among the writes to the parent. */
  async #writtenMessages(
    place: Place,
    parentId: string | null,
    changed: readonly string[],
    newVersions: ChannelVersions,
  ): Promise<RecallableMessage[]> {
    const isDelta = (channel: string) => Object.hasOwn(newVersions, channel) && !changed.includes(channel);
    const writes = Object.keys(newVersions).some((channel) => this.#isRecallable(place, channel) && isDelta(channel))
      ? this.#writes(place, parentId ?? "").filter(({ channel }) => channel === this.#messagesChannel)
      : [];
    const values = await Promise.all(writes.map(({ value }) => deserialize(this.serde, value)));
    const messages = values.flat().filter((value) => isMessages([value]) && value.getType() !== "remove");
    return messages.map(recallableMessage).filter(({ id }) => id !== undefined);
  }

  async #tupleOf(place: Place, id: string, { parent, ...stored }: StoredCheckpoint): Promise<CheckpointTuple> {
    const writes = this.#writes(place, id);
    const sends = parent === null ? [] : this.#writes(place, parent).filter(({ channel }) => channel === TASKS);
    const channels = stored.values.map(([channel, , ref]) => ({
      channel,
      value: this.#values.get({ ...place, channel }, ref),
    }));

    const checkpoint = await deserialize(this.serde, stored.checkpoint);
    for (const { channel, value } of channels) {
      if (value !== undefined)
        setOwn(checkpoint.channel_values, channel, await this.serde.loadsTyped(value.type, value.bytes));
    }
    if (checkpoint.v < 4 && parent !== null) await this.#migrateSends(checkpoint, sends);
    return {
      config: configOf(place, id),
      checkpoint,
      metadata: await deserialize(this.serde, stored.metadata),
      pendingWrites: await Promise.all(
        writes.map(
          async ({ taskId, channel, value }): Promise<CheckpointPendingWrite> => [
            taskId,
            channel,
            await deserialize(this.serde, value),
          ],
        ),
      ),
      ...(parent !== null && { parentConfig: configOf(place, parent) }),
    };
  }

  /** Before version 4, a checkpoint's tasks were among the writes of its parent. */
  async #migrateSends(checkpoint: Checkpoint, sends: readonly StoredWrite[]): Promise<void> {
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_values[TASKS] = await Promise.all(sends.map(({ value }) => deserialize(this.serde, value)));
    checkpoint.channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
  }

  #stored(place: Place, id: string): StoredCheckpoint | undefined {
    return this.#store.items.get(checkpointsIn(place), id)?.value as StoredCheckpoint | undefined;
  }

  /** Returns the writes of a checkpoint in the order in which LangGraph applies them. */
  #writes(place: Place, id: string): StoredWrite[] {
    const writes = this.#store.items.list(writesIn(place, id)).map(({ value }) => value as unknown as StoredWrite);
    const keyOf = ({ taskPath, taskId, index }: StoredWrite): WritesSortKey => writesSortKey(taskPath, taskId, index);
    return writes.sort((left, right) => compareWritesSortKeys(keyOf(left), keyOf(right)));
  }

  /** Yields the checkpoints of a place, newest first. Those that are saved during the iteration are left out. */
  *#checkpoints(place: Place): Generator<[id: string, StoredCheckpoint]> {
    let lastId: string | undefined;
    for (let offset = 0; ; offset += PAGE) {
      const page = this.#page(place, offset, PAGE);
      for (const [id, stored] of page) {
        if (lastId !== undefined && id >= lastId) continue;
        lastId = id;
        yield [id, stored];
      }
      if (page.length < PAGE) return;
    }
  }

  #page(place: Place, offset: number, limit: number): [id: string, StoredCheckpoint][] {
    const items = this.#store.items.list(checkpointsIn(place), { descending: true, offset, limit });
    return items.map(({ key, value }) => [key, value as unknown as StoredCheckpoint]);
  }

  #places(config: RunnableConfig): Place[] {
    const { thread_id: threadId, checkpoint_ns: ns } = config.configurable ?? {};
    const prefix = ["langgraph", "checkpoints", ...(threadId === undefined ? [] : [threadId])];
    return everyNamespace(this.#store.items, prefix)
      .map(([, , thread, name]) => ({ threadId: thread!, ns: name! }))
      .filter((place) => ns === undefined || place.ns === ns);
  }
}

function checkpointsIn({ threadId, ns }: Place): string[] {
  return ["langgraph", "checkpoints", threadId, ns];
}

function writesIn({ threadId, ns }: Place, checkpointId: string): string[] {
  return ["langgraph", "writes", threadId, ns, checkpointId];
}

function placeOf({ configurable = {} }: RunnableConfig): Place {
  const { thread_id: threadId, checkpoint_ns: ns = "" } = configurable;
  if (typeof threadId !== "string" || threadId === "") refuse("thread_id", "the id of a thread", threadId);
  if (typeof ns !== "string") refuse("checkpoint_ns", "a text", ns);
  return { threadId, ns };
}

function refuse(field: string, expected: string, actual: unknown): never {
  throw new StoreError("OPTION_INVALID", { option: `configurable.${field}`, expected, actual });
}

function configOf({ threadId, ns }: Place, id: string): RunnableConfig {
  return { configurable: { thread_id: threadId, checkpoint_ns: ns, checkpoint_id: id } };
}
