import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { CoppiceSaver } from "../../src/frameworks/langgraph.ts";
import type { Store } from "../../src/index.ts";
import type { Work } from "./framework-child.ts";

export const THREAD = { configurable: { thread_id: "shared", checkpoint_ns: "" } };

/** Each piece puts a checkpoint after the newest one, with one more message of the graph and one more note. */
export async function langgraphWork(store: Store, name: string): Promise<Work> {
  const saver = new CoppiceSaver(store);
  return async (number) => {
    const newest = await saver.getTuple(THREAD);
    const { messages = [], notes = 0 } = (newest?.checkpoint.channel_values ?? {}) as Partial<Values>;
    const Message = messages.length % 2 === 0 ? HumanMessage : AIMessage;
    const message = new Message({ content: `${name} says ${number}`, id: `${name}-${number}-${uuid6(0)}` });
    const values: Values = { messages: [...messages, message], notes: notes + 1 };
    const versions = { messages: values.messages.length, notes: values.notes };
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(0),
      channel_values: { ...values },
      channel_versions: versions,
    };
    await saver.put(newest?.config ?? THREAD, checkpoint, { source: "loop", step: number, parents: {} }, versions);
  };
}

export interface Values {
  messages: BaseMessage[];
  notes: number;
}
