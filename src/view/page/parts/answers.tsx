import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { bytesOf, save } from "../asking.ts";
import { href } from "../router.ts";

// Browsers send no key for links and pictures, so the page asks for what they show.

/** A link to a page with a whole answer, in a new tab. */
export function WholeLink({ url, children }: { url: string; children: string }) {
  return (
    <a href={href({ view: "whole", url })} target="_blank" rel="noreferrer">
      {children}
    </a>
  );
}

/** The page that such a link opens. It has the text of the answer and nothing else. */
export function Whole({ url }: { url: string }) {
  const [text, setText] = useState<string>();
  useEffect(() => {
    bytesOf(url)
      .then((bytes) => bytes.text())
      .then(setText, ({ message }) => setText(`It could not be loaded: ${message}`));
  }, [url]);
  return text === undefined ? null : <pre class="whole">{text}</pre>;
}

/** Saves an answer as a file. */
export function Save(props: {
  url: string;
  as: string;
  class?: string;
  onDone?: () => void;
  children: ComponentChildren;
}) {
  const [hasFailed, setFailed] = useState(false);
  const start = () =>
    save(props.url, props.as).then(
      () => props.onDone?.(),
      () => setFailed(true),
    );
  return (
    <button type="button" class={props.class ?? "plain"} onClick={start}>
      {hasFailed ? "It could not be loaded" : props.children}
    </button>
  );
}

/** A picture that a message has. */
export function Picture({ url, alt }: { url: string; alt: string }) {
  const [src, setSrc] = useState<string>();
  useEffect(() => {
    let made: string | undefined;
    let isGone = false;
    bytesOf(url).then(
      (bytes) => {
        if (isGone) return;
        made = URL.createObjectURL(bytes);
        setSrc(made);
      },
      () => setSrc(""),
    );
    return () => {
      isGone = true;
      if (made !== undefined) URL.revokeObjectURL(made);
    };
  }, [url]);
  return src === undefined ? null : <img src={src} alt={alt} />;
}
