import { openStore, StoreError } from "../../src/index.ts";
import { saidAt } from "../crash/conversation.ts";

/** The results of a writer's appends: the seq and the id of each message, in order. */
export interface Written {
  seqs: number[];
  messageIds: number[];
  /** Appends that were refused because the file was locked, and tried again. */
  busyCount: number;
  /** The time before the first append, and after the last. Unix milliseconds. */
  fromMs: number;
  toMs: number;
}

// Appends `argv[5]` messages of the conversation `argv[4]` to the session `argv[3]` of the store `argv[2]`.
const [, , path, sessionId, conversation, count] = process.argv;
const store = openStore(path!);
const session = store.session(sessionId!);
const written: Written = { seqs: [], messageIds: [], busyCount: 0, fromMs: Date.now(), toMs: 0 };
while (written.seqs.length < Number(count)) {
  try {
    const { seq, messageId } = session.append(saidAt(conversation!, written.seqs.length));
    written.seqs.push(seq);
    written.messageIds.push(messageId);
  } catch (error) {
    if (!StoreError.is(error, "STORE_BUSY")) throw error;
    written.busyCount += 1;
  }
}
written.toMs = Date.now();
store.close();
console.log(JSON.stringify(written));
