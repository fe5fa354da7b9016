import { writeFileSync } from "node:fs";

/** Loaded before a program: writes the time and memory of the whole process when it ends. */
process.on("exit", () => {
  const used = { ms: performance.now(), mb: process.resourceUsage().maxRSS / 1024 };
  writeFileSync(process.env.COPPICE_BENCH_USAGE, JSON.stringify(used));
});
