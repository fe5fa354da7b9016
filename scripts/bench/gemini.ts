import { abortFigures } from "./gemini/abort.ts";
import { blockedFigures } from "./gemini/blocked.ts";
import { faultFigures } from "./gemini/faults.ts";
import { paidFigures } from "./gemini/paid.ts";
import { speedFigures } from "./gemini/speed.ts";
import { tokenFigures } from "./gemini/tokens.ts";

export interface GeminiBenchOptions {
  /** The folder with `threads/`: issue threads, as the evaluations read them. */
  data?: string | undefined;
}

/** Measures the costs of a model and the faults of its service, with the real client and a local server. */
export async function benchGemini({ data }: GeminiBenchOptions = {}): Promise<{
  name: "gemini";
  figures: Record<string, number>;
}> {
  const figures = {
    ...(await speedFigures()),
    ...(await abortFigures()),
    ...(await blockedFigures()),
    ...(await tokenFigures(data)),
    ...(await paidFigures()),
    ...(await faultFigures()),
  };
  return { name: "gemini", figures };
}
