import type { ContextMessage } from "../index.ts";
import type { ViewPart } from "./api.ts";

/** Returns what a part says, as text. */
export function textOfPart(part: ContextMessage["parts"][number] | ViewPart): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text;
    case "tool_call":
      return `${part.name} ${JSON.stringify(part.args)}`;
    case "tool_result":
      return typeof part.content === "string" ? part.content : part.content.map(textOfPart).join("\n");
    case "file":
      return `[file ${part.name ?? part.mediaType}]`;
    case "data":
      return JSON.stringify(part.data);
  }
}
