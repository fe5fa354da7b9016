import { extractiveSummarizer } from "../../src/models/extractive-summarizer.ts";
import { describeSummarizer } from "./summarizer.contract.ts";

describeSummarizer("extractive", { create: extractiveSummarizer, deterministic: true });
