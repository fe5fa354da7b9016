import type { Message } from "../../core/message.ts";
import type { ReadVerdicts } from "../../core/verdicts.ts";
import { notTakenBack } from "../../models/commitments.ts";
import { chooseTold } from "../../models/told.ts";
import type { QuickReader } from "../../store/index.ts";
import type { Session } from "../session.ts";
import { linesOf } from "./told-lines.ts";
import { type Decision, judgedLines, type OpenEnd, openEnds, toldBy, type WorkLine, workIn } from "./work-lines.ts";

/** The newest messages with words that are read, besides the first ones, which say what the session is for. */
const SAID_MAX = 800;
const FIRST_MAX = 16;
/** The first and the last messages of the newest turn that are read. */
const TURN_ENDS_MAX = 50;
/** The most decisions, open ends and files. */
const LINES_MAX = 4;
/** The name of a message after its sentences takes about so many columns. */
const SOURCE_COLUMNS = 16;

/** What a person reads before going on with a session: the sentences that contexts tell, too, and the newest turn. */
export interface SessionStory {
  /** What was asked, done and found before the newest turn, in order. */
  told: WorkLine[];
  decided: Decision[];
  open: OpenEnd[];
  files: WorkLine[];
  /** What the user asked last, and the last words of the agent since. */
  newest: Message[];
}

/** @param room  About the columns that all that is told may take. */
export function storyOf(
  reader: QuickReader,
  session: Session,
  room: { columns: number; of: (text: string) => number },
): SessionStory {
  const { id, project } = session;
  const newest = session.messages({ last: 1 })[0];
  const turnSeq = Math.max(0, newest?.turnSeq ?? 0);
  const turn = [
    ...session.messages({ seqFrom: turnSeq, limit: TURN_ENDS_MAX }),
    ...session.messages({ last: TURN_ENDS_MAX }).filter(({ seq }) => seq >= turnSeq + TURN_ENDS_MAX),
  ];
  const said = reader.said(id, SAID_MAX);
  const first = reader.said(id, FIRST_MAX, Math.min(FIRST_MAX, said[0]?.seq ?? 0));
  const all = [...first, ...said];
  const before = all.filter(({ seq }) => seq < turnSeq);
  const told = toldBy(before);
  const asked = told.filter(({ by }) => by === "user");
  const stillAsked = new Set(notTakenBack(asked, all));
  const still = told.filter((one) => one.by !== "user" || stillAsked.has(one));
  const chosen = chooseTold(still, room.columns, { of: ({ text }) => room.of(text) + 1, first: () => SOURCE_COLUMNS });
  const { decided, files } = workIn(all, project);
  const isSaid = ({ parts }: Message): boolean =>
    parts.some((part) => part.type === "text" && part.injected !== true && /\S/.test(part.text));
  const verdictsOn: ReadVerdicts = (ids) => reader.verdictsOn(ids);
  const ends = [
    turn.find(({ role }) => role === "user"),
    turn.findLast((one) => one.role === "assistant" && isSaid(one)),
  ];
  return {
    told: judgedLines(linesOf(chosen, still, before), verdictsOn),
    decided: judgedLines(decided.slice(0, LINES_MAX), verdictsOn),
    open: judgedLines(openEnds({ messages: reader }, id, said).slice(0, LINES_MAX), verdictsOn),
    files: files.slice(0, LINES_MAX),
    newest: ends.filter((message) => message !== undefined),
  };
}
