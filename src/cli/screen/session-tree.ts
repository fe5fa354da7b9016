import { groupedBy } from "../../core/groups.ts";
import type { Session } from "../../session/session.ts";
import type { Store } from "../../session/store.ts";
import { cutToWidth } from "./display-width.ts";
import { messageHandle } from "./message-lines.ts";
import type { Terminal } from "./terminal.ts";
import { formatCount, formatTime, oneLine } from "./text.ts";

type SessionOverview = ReturnType<Session["info"]>;

type Branch = ReturnType<Session["branches"]>[number];

const OPENING_CHARS = 80;

export interface SessionTree {
  session: SessionOverview;
  /** The messages that the session has superseded. */
  branches: Branch[];
  /** The sessions that it started, and its forks. */
  children: SessionTree[];
}

export function sessionTree(store: Store, session: Session): SessionTree {
  const oldestFirst = store.sessions({ onUnreadable: () => {} }).reverse();
  const childrenOf = groupedBy(oldestFirst, ({ parentSessionId }) => parentSessionId);
  return treeOf(session.info());

  function treeOf(overview: SessionOverview): SessionTree {
    const children = childrenOf.get(overview.id) ?? [];
    childrenOf.delete(overview.id); // ends even if damaged sessions are the parents of each other
    return { session: overview, branches: store.resume(overview.id).branches(), children: children.map(treeOf) };
  }
}

/** Says where a session began; "" if it has no parent. */
export function originOf({ parentSessionId, forkSeq }: SessionOverview): string {
  if (parentSessionId === null) return "";
  return `${forkSeq === null ? "started by" : "forked from"} ${oneLine(parentSessionId)}`;
}

export function* treeLines(store: Store, tree: SessionTree, terminal: Terminal, indent = ""): Generator<string> {
  const { session, branches, children } = tree;
  const cut = (line: string): string => cutToWidth(line, terminal.columns);
  const count = formatCount(session.messageCount, "message");
  const isTop = indent === "";
  const origin = isTop ? originOf(session) : session.forkSeq === null ? "" : "fork";
  const facts = [oneLine(session.id), origin, count, oneLine(session.name ?? "")];
  yield cut(`${indent}${isTop ? "" : "↳ "}${facts.filter(Boolean).join(" · ")}`);
  const inner = `${indent}  `;
  for (const branch of branches) {
    const facts = [`superseded ${formatTime(branch.supersededAtMs)}`, formatCount(branch.messageCount, "message")];
    const { firstMessageId } = branch;
    if (firstMessageId !== null) facts.push(`${messageHandle(firstMessageId)}: ${openingOf(store, firstMessageId)}`);
    yield terminal.style("dim", cut(`${inner}✗ ${facts.join(" · ")}`));
  }
  for (const child of children) yield* treeLines(store, child, terminal, inner);
}

function openingOf(store: Store, messageId: number): string {
  const message = store.expand(messageId, { level: "step" }).members.find(({ id }) => id === messageId);
  return oneLine((message?.text ?? "").slice(0, OPENING_CHARS));
}
