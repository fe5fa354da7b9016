import { useState } from "preact/hooks";
import type { ForgetAnswer, SessionAnswer, ViewMessage } from "../../api.ts";
import { urlOf } from "../../questions.ts";
import { post, type Refused } from "../client.ts";
import { count, sessionTitle, tokens } from "../format.ts";
import { about } from "../live.ts";
import { Save } from "../parts/answers.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { go, href } from "../router.ts";

/** The actions on a session. Without `--write`, only those that change nothing. */
export function Actions({ answer, onDone }: { answer: SessionAnswer; onDone: () => void }) {
  const [asked, setAsked] = useState<"rename" | "forget" | "export">();
  const { id } = answer.session;
  const isWritable = about.value!.isWritable;
  const ask = (what: "rename" | "forget" | "export") => (event: Event) => {
    (event.currentTarget as Element).closest("details")?.removeAttribute("open");
    setAsked(what);
  };
  return (
    <>
      <details class="menu">
        <summary>Actions</summary>
        <div class="menu-body">
          <button type="button" class="plain" onClick={ask("export")}>
            Export…
          </button>
          {isWritable ? (
            <>
              <button type="button" class="plain" onClick={ask("rename")}>
                Rename…
              </button>
              <button type="button" class="plain danger" onClick={ask("forget")}>
                Forget…
              </button>
            </>
          ) : (
            <p class="small muted">
              This page only reads. <code>coppice view --write</code> also renames, pins and forgets.
            </p>
          )}
        </div>
      </details>
      {asked === "rename" && <Rename answer={answer} onClose={() => setAsked(undefined)} onDone={onDone} />}
      {asked === "forget" && (
        <Forget
          session={id}
          what={`“${sessionTitle(answer.session)}”`}
          onClose={() => setAsked(undefined)}
          onDone={() => go(href({}))}
        />
      )}
      {asked === "export" && <Export answer={answer} onClose={() => setAsked(undefined)} />}
    </>
  );
}

/** The actions on a message. Only messages that have not entered the forest can be pinned. */
export function MessageTools(props: { message: ViewMessage; graduatedSeq: number; onDone: () => void }) {
  const { message, graduatedSeq, onDone } = props;
  const [asked, setAsked] = useState<"pin" | "forget">();
  const { id, session, seq, pinned, role } = message;
  const close = () => setAsked(undefined);
  return (
    <>
      {seq >= graduatedSeq && role !== "system" && (
        <button type="button" class="plain tool-button" onClick={() => setAsked("pin")}>
          {pinned ? "Unpin" : "Pin"}
        </button>
      )}
      <button type="button" class="plain tool-button" onClick={() => setAsked("forget")}>
        Forget
      </button>
      {asked === "pin" && (
        <Question
          title={pinned ? `Unpin message ${seq}?` : `Pin message ${seq}?`}
          button={pinned ? "Unpin it" : "Pin it"}
          act={() => post("/api/pin", { message: id, pinned: !pinned })}
          onClose={close}
          onDone={onDone}
        >
          <p>
            {pinned
              ? "Contexts will no longer have to show it and its step."
              : "Every context of the session will show it and its step word for word, whatever the budget."}
          </p>
        </Question>
      )}
      {asked === "forget" && (
        <Forget
          session={session}
          messages={[id]}
          what={`message ${seq} with its step`}
          onClose={close}
          onDone={onDone}
        />
      )}
    </>
  );
}

function Rename({ answer, onClose, onDone }: { answer: SessionAnswer; onClose: () => void; onDone: () => void }) {
  const [title, setTitle] = useState(answer.session.title ?? "");
  const { id } = answer.session;
  return (
    <Question
      title="Rename this session?"
      button="Rename it"
      act={() => post("/api/rename", { session: id, title })}
      isReady={title.trim() !== ""}
      onClose={onClose}
      onDone={onDone}
    >
      <label class="field">
        New title
        <input type="text" value={title} maxLength={200} onInput={(event) => setTitle(event.currentTarget.value)} />
      </label>
    </Question>
  );
}

function Export({ answer, onClose }: { answer: SessionAnswer; onClose: () => void }) {
  const { id, messageCount } = answer.session;
  return (
    <Dialog title="Export this session?" onClose={onClose}>
      <p>
        The file has {count(messageCount, "message")}, word for word, one a line. <code>coppice import</code> reads it.
      </p>
      <p class="buttons">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <Save class="primary" url={urlOf("/api/export", { session: id })} as="session.jsonl" onDone={onClose}>
          Save the file
        </Save>
      </p>
    </Dialog>
  );
}

/** Asks twice: first whether to look at what would go, then for the word that the server wants. */
function Forget(props: {
  session: string;
  messages?: number[];
  what: string;
  onClose: () => void;
  onDone: () => void;
}) {
  const { session, messages, what, onClose, onDone } = props;
  const [plan, setPlan] = useState<ForgetAnswer>();
  const [word, setWord] = useState("");
  const request = { session, messages };
  if (plan === undefined)
    return (
      <Question
        title={`Forget ${what}?`}
        button="Show what would go"
        act={async () => setPlan(await post("/api/forget", request))}
        onClose={onClose}
        isLast={false}
      >
        <p>Nothing is forgotten yet. The next step says what would go.</p>
      </Question>
    );
  return (
    <Question
      title={`Forget ${what} for ever?`}
      button="Forget it"
      isDanger
      isReady={word === plan.confirm}
      act={() => post("/api/forget", { ...request, confirm: word })}
      onClose={onClose}
      onDone={onDone}
    >
      <p>This would go from the store, and cannot be brought back from it:</p>
      <ul>
        <li>
          {count(plan.messageCount, "message")} with {tokens(plan.tokenCount)}
        </li>
        <li>{count(plan.clusterCount, "cluster")} would be gone or smaller</li>
        <li>{count(plan.summaryCount, "summary", "summaries")}</li>
        <li>{count(plan.artifactCount, "long text or file", "long texts or files")}</li>
      </ul>
      <label class="field">
        <span>
          To confirm, type <code>{plan.confirm}</code>
        </span>
        <input
          type="text"
          value={word}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => setWord(event.currentTarget.value)}
        />
      </label>
    </Question>
  );
}

function Question(props: {
  title: string;
  button: string;
  act: () => Promise<unknown>;
  onClose: () => void;
  onDone?: () => void;
  isReady?: boolean;
  isDanger?: boolean;
  /** False if another question follows. */
  isLast?: boolean;
  children: preact.ComponentChildren;
}) {
  const { title, button, act, onClose, onDone, isReady = true, isDanger = false, isLast = true, children } = props;
  const [error, setError] = useState<Refused>();
  const [isBusy, setIsBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setIsBusy(true);
    try {
      await act();
      if (isLast) onClose();
      onDone?.();
    } catch (failure) {
      setError(failure as Refused);
    }
    setIsBusy(false);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        {children}
        {error && <p role="alert">{error.message}</p>}
        <p class="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class={isDanger ? "primary danger" : "primary"} disabled={!isReady || isBusy}>
            {button}
          </button>
        </p>
      </form>
    </Dialog>
  );
}
