import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { bytesOf, open } from "../asking.ts";

/** What a link to the server would do: opens an answer in a new tab, or saves it. */
export function Opening(props: {
  url: string;
  saveAs?: string;
  class?: string;
  onDone?: () => void;
  children: ComponentChildren;
}) {
  const [hasFailed, setFailed] = useState(false);
  const start = () =>
    open(props.url, props.saveAs).then(
      () => props.onDone?.(),
      () => setFailed(true),
    );
  return (
    <button type="button" class={props.class ?? "plain"} onClick={start}>
      {hasFailed ? "It could not be loaded" : props.children}
    </button>
  );
}

/** A picture that the server has. */
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
