import { describeSummarizer } from "../../contract/summarizer.contract.ts";
import { scriptedSummarizer } from "../../support/scripted-summarizer.ts";

// The fake that the tests of summaries use is a summarizer like any other.
describeSummarizer("scripted", { create: () => scriptedSummarizer("good"), deterministic: true });
