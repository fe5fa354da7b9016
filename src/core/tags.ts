export const TAGS = ["coppice", "tags"] as const;

/** The tag of sessions that lists for people leave out. */
export const HIDDEN = "hidden";

/** The namespace of the items that say which sessions have a tag. Their keys are the sessions' ids. */
export function tagNamespace(tag: string): string[] {
  return [...TAGS, tag];
}
