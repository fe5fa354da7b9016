import { DamageError } from "../core/damage.ts";
import type { ClusterRow } from "./cluster-rows.ts";
import type { MessageRepository } from "./messages.ts";
import type { UnionRepository } from "./unions.ts";

/**
 * Returns the steps of a cluster as it is now.
 *
 * @throws {DamageError} if these are not the steps and messages that its row has: an index lacks some, or names others.
 */
export function membersOf(
  messages: MessageRepository,
  unions: UnionRepository,
  { sessionId, rootId: root, stepCount, messageCount }: ClusterRow,
): number[] {
  const entries = unions.entriesOf({ sessionId, root, from: 0, position: unions.newestPosition() });
  const steps = new Set(entries.filter(({ clusterRoot }) => clusterRoot === root).map(({ stepId }) => stepId));
  if (steps.size !== stepCount || entries.length !== stepCount) {
    throw new DamageError(`cluster ${root} has ${stepCount} steps, and ${entries.length} are found in the log`);
  }
  const found = new Set(messages.idsOfSteps([...steps])).size;
  if (found === messageCount) return [...steps];
  throw new DamageError(`cluster ${root} has ${messageCount} messages, and ${found} are found`);
}
