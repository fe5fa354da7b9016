import { messageText } from "../../context/message-element.ts";
import type { Message } from "../../core/message.ts";
import { isQuestion } from "../../core/question.ts";
import type { RecallHit } from "../../recall/hits.ts";
import type { Store } from "../store.ts";

/** Returns the hits with each answer directly before the user's question that it answers: a reader wants the answer first. */
export function answersFirst(store: Store, hits: readonly RecallHit[]): RecallHit[] {
  const ordered = [...hits];
  for (const question of hits) {
    if (question.role !== "user" || question.superseded || !isQuestion(wholeText(store, question))) continue;
    const at = ordered.indexOf(question);
    const answerAt = ordered.findIndex((hit, index) => index > at && isAnswer(store, question, hit));
    if (answerAt === -1) continue;
    const [answer] = ordered.splice(answerAt, 1);
    ordered.splice(at, 0, answer!);
  }
  return ordered;
}

/** Returns true for something that the assistant said in the turn that the question began. */
function isAnswer(store: Store, question: RecallHit, { role, sessionId, seq, superseded }: RecallHit): boolean {
  if (superseded || role !== "assistant" || sessionId !== question.sessionId || seq <= question.seq) return false;
  const message = messageAt(store, { sessionId, seq });
  return (
    message?.turnSeq === question.seq && message.parts.some((part) => part.type === "text" && /\S/.test(part.text))
  );
}

/** Returns the text of a hit, also if the hit has only its snippet. */
function wholeText(store: Store, hit: RecallHit): string {
  const message = hit.cut && messageAt(store, hit);
  return message ? messageText(message).text : hit.text;
}

function messageAt(store: Store, { sessionId, seq }: Pick<RecallHit, "sessionId" | "seq">): Message | undefined {
  return store.resume(sessionId).messages({ seqFrom: seq, limit: 1 })[0];
}
