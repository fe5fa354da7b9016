import { useEffect, useState } from "preact/hooks";
import type { ViewMessage } from "../../api.ts";
import { get, type Refused } from "../client.ts";
import { number } from "../format.ts";
import { Message } from "./message.tsx";
import { Failure, Loading } from "./states.tsx";

const PAGE = 20;

/** The exact messages behind a handle, or between two messages of a session, page by page. */
export function Sources({ of }: { of: { root: string } | { session: string; seqFirst: number; seqLast: number } }) {
  const [messages, setMessages] = useState<ViewMessage[]>();
  const [next, setNext] = useState<number | null>(null);
  const [count, setCount] = useState(0);
  const [error, setError] = useState<Refused>();
  const key = JSON.stringify(of);

  const load = async (offset: number, before: ViewMessage[], isCurrent: () => boolean) => {
    try {
      if ("root" in of) {
        const answer = await get("/api/members", { root: of.root, offset, limit: PAGE });
        if (!isCurrent()) return;
        setMessages([...before, ...answer.members]);
        setCount(answer.memberCount);
        setNext(offset + answer.members.length < answer.memberCount ? offset + answer.members.length : null);
      } else {
        const answer = await get("/api/messages", { session: of.session, seqFrom: of.seqFirst + offset, limit: PAGE });
        if (!isCurrent()) return;
        const found = answer.messages.filter(({ seq }) => seq <= of.seqLast);
        setMessages([...before, ...found]);
        setCount(of.seqLast - of.seqFirst + 1);
        setNext(answer.next !== null && answer.next <= of.seqLast ? answer.next - of.seqFirst : null);
      }
    } catch (failure) {
      if (isCurrent()) setError(failure as Refused);
    }
  };
  useEffect(() => {
    let isCurrent = true;
    setMessages(undefined);
    setError(undefined);
    void load(0, [], () => isCurrent);
    return () => {
      isCurrent = false;
    };
  }, [key]);

  if (error !== undefined) return <Failure error={error} />;
  if (messages === undefined) return <Loading />;
  return (
    <div class="sources">
      {messages.map((message) => (
        <Message key={message.id} message={message} />
      ))}
      {next !== null && (
        <button type="button" class="plain" onClick={() => load(next, messages, () => true)}>
          Show more of {number(count)} messages
        </button>
      )}
    </div>
  );
}
