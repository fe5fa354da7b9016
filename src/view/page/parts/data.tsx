import { useState } from "preact/hooks";
import { urlOf } from "../../questions.ts";
import { bytesOf } from "../asking.ts";
import { WholeLink } from "./answers.tsx";

/** The JSON and the SQL of a view, to open and to copy. */
export function Data({ url, sql }: { url: string; sql?: string | undefined }) {
  return (
    <details class="menu">
      <summary>Data</summary>
      <div class="menu-body">
        <WholeLink url={url}>Open the JSON</WholeLink>
        <Copy label="Copy the JSON" text={async () => (await bytesOf(url)).text()} />
        {sql !== undefined && (
          <>
            <Copy label="Copy the SQL" text={() => sql} />
            <WholeLink url={urlOf("/api/sql", { query: sql })}>Run the SQL</WholeLink>
            <pre class="sql" tabIndex={0}>
              {sql}
            </pre>
          </>
        )}
      </div>
    </details>
  );
}

export function Copy({ label, text }: { label: string; text: () => string | Promise<string> }) {
  const [said, setSaid] = useState<string>();
  const say = (words: string) => {
    setSaid(words);
    setTimeout(() => setSaid(undefined), 1500);
  };
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(await text());
      say("Copied");
    } catch {
      say("The browser did not let it be copied");
    }
  };
  return (
    <button type="button" class="plain" onClick={copy}>
      <span aria-live="polite">{said ?? label}</span>
    </button>
  );
}
