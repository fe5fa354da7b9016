import { useState } from "preact/hooks";
import { urlOf } from "../client.ts";

/** The JSON and the SQL of a view, to open and to copy. */
export function Data({ url, sql }: { url: string; sql?: string | undefined }) {
  return (
    <details class="menu">
      <summary>Data</summary>
      <div class="menu-body">
        <a href={url} target="_blank" rel="noreferrer">
          Open the JSON
        </a>
        <Copy label="Copy the JSON" text={() => fetch(url).then((response) => response.text())} />
        {sql !== undefined && (
          <>
            <Copy label="Copy the SQL" text={() => sql} />
            <a href={urlOf("/api/sql", { query: sql })} target="_blank" rel="noreferrer">
              Run the SQL
            </a>
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
